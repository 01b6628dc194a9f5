/** Validation rules that both the CustomResourceDefinition (CEL) and zod check. */
import type * as z from 'zod';

interface Rule<T> {
  /** CEL, for the API server. */
  rule: string;
  message: string;
  /** The same check in TypeScript, for code that parses a spec before sending it. */
  holds: (value: T) => boolean;
}

export function ruled<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const checked = rules.reduce((before, { message, holds }) => before.refine(holds, message), schema);
  return checked.meta({ 'x-kubernetes-validations': rules.map(({ holds: _holds, ...rule }) => rule) });
}

/** A rule with a message; the error of a pattern would only show the expression. Valid in RE2 and in JavaScript. */
export const matching = (schema: z.ZodString, expression: string, message: string) =>
  ruled(schema, {
    rule: `self.matches(r'${expression}')`,
    message,
    holds: (text) => new RegExp(expression).test(text),
  });
