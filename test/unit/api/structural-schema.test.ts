import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inputSchema, structuralSchema } from '../../../src/api/crd.ts';

describe('structuralSchema', () => {
  it('replaces safe-integer bounds with a width', () => {
    expect(structuralSchema(z.int())).toEqual({ type: 'integer', format: 'int64' });
    expect(structuralSchema(z.int().min(0))).toEqual({ type: 'integer', format: 'int64', minimum: 0 });
    const port = structuralSchema(z.int().min(1).max(65535));
    expect(port).toEqual({ type: 'integer', format: 'int32', minimum: 1, maximum: 65535 });
  });

  it('makes exclusive bounds of integers inclusive', () => {
    const schema = structuralSchema(z.int().gt(0).lt(10));
    expect(schema).toEqual({ type: 'integer', format: 'int32', minimum: 1, maximum: 9 });
  });

  it('uses int64 for 2^31', () => {
    expect(
      structuralSchema(
        z
          .int()
          .min(0)
          .max(2 ** 31),
      ).format,
    ).toBe('int64');
    expect(
      structuralSchema(
        z
          .int()
          .min(0)
          .max(2 ** 31 - 1),
      ).format,
    ).toBe('int32');
  });

  it('uses the date-time format without a pattern', () => {
    const schema = structuralSchema(z.iso.datetime().max(64));
    expect(schema).toEqual({ type: 'string', format: 'date-time', maxLength: 64 });
  });

  it('drops additionalProperties: false, and preserves fields of unknown shape', () => {
    expect(structuralSchema(z.strictObject({}))).toEqual({ type: 'object', properties: {} });
    expect(structuralSchema(z.looseObject({}))).toEqual({
      type: 'object',
      properties: {},
      'x-kubernetes-preserve-unknown-fields': true,
    });
    expect(structuralSchema(z.record(z.string(), z.string())).additionalProperties).toEqual({ type: 'string' });
  });

  it('does not require a field with a default', () => {
    const schema = structuralSchema(z.object({ a: z.string(), b: z.string().default('x') }));
    expect(schema.required).toEqual(['a']);
    expect(schema.properties?.['b']).toEqual({ type: 'string', default: 'x' });
  });

  it('passes CEL rules through', () => {
    const rules = [{ rule: 'self != ""', message: 'give one' }];
    expect(structuralSchema(z.string().meta({ 'x-kubernetes-validations': rules }))).toEqual({
      type: 'string',
      'x-kubernetes-validations': rules,
    });
  });
});

describe('inputSchema', () => {
  const named = (rule: string) => ({ 'x-kubernetes-validations': [{ rule, message: 'must be good' }] });

  it('puts what the API server would quote of a text into rules of the object around it', () => {
    const schema = z.object({
      a: z.enum(['X', 'Y', 'Z']).default('X'),
      b: z.string().max(9).meta(named('self.matches("b") && self != ""')).optional(),
    });
    expect(inputSchema(schema)).toMatchObject({
      properties: {
        a: { type: 'string', default: 'X', enum: ['X', 'Y', 'Z'] },
        b: { type: 'string', maxLength: 9 },
      },
      'x-kubernetes-validations': [
        { rule: '!has(self.b) || (self.b.matches("b") && self.b != "")', message: 'must be good', fieldPath: '.b' },
      ],
    });
    expect(JSON.stringify(inputSchema(schema).properties)).not.toContain('validations');
  });

  it('puts a rule of the values of a map into a rule of the map', () => {
    const schema = z.record(z.string(), z.string().meta(named('self != ""')));
    expect(inputSchema(schema)).toMatchObject({
      additionalProperties: { type: 'string' },
      'x-kubernetes-validations': [{ rule: 'self.all(key, self[key] != "")', message: 'each value must be good' }],
    });
  });

  it.each([
    ['a pattern', z.object({ a: z.string().regex(/^a$/) })],
    ['a time without a rule', z.object({ a: z.iso.datetime() })],
    ['a rule of a text in a list', z.array(z.string().meta(named('self != ""')))],
  ])('takes no schema with %s, which would be quoted', (_what, schema) => {
    expect(() => inputSchema(schema)).toThrow(/write/);
  });
});
