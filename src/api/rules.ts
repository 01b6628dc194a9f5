/** Rules of a CustomResourceDefinition that zod checks as well, for whoever writes an object. */
import type * as z from 'zod';

interface Rule<T> {
  /** CEL, for the API server. */
  rule: string;
  message: string;
  /** The same for whoever parses a spec before it is sent. */
  holds: (value: T) => boolean;
}

export function ruled<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const checked = rules.reduce((before, { message, holds }) => before.refine(holds, message), schema);
  return checked.meta({ 'x-kubernetes-validations': rules.map(({ rule, message }) => ({ rule, message })) });
}

/** A rule instead of a pattern, whose error would show nothing but the expression (RE2 and JavaScript, raw). */
export const matching = (schema: z.ZodString, expression: string, message: string) =>
  ruled(schema, {
    rule: `self.matches(r'${expression}')`,
    message,
    holds: (text) => new RegExp(expression).test(text),
  });
