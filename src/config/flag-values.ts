/** Schemas for flag values. The error for an invalid value is the description of the form. */
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { MAX_DURATION_DAYS, parseDuration } from '../base/duration.ts';

/** An error in the user's input; its message is shown to the user unchanged. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

const MAX_SHOWN = 100;

/** An invalid value for an error message, without the user and query of a URL, which may contain credentials. */
export function shown(text: string): string {
  const safe = text.replace(/^([a-z]+:\/\/)?.*@/is, '$1***@').replace(/[?#].*/s, (tail) => `${tail.charAt(0)}***`);
  return JSON.stringify(safe.length > MAX_SHOWN ? `${safe.slice(0, MAX_SHOWN)}...` : safe);
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const httpUrl = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url !== undefined && url.username === '' && url.password === '' && !/[?#@\s\\]/.test(text);
  if (bare && /^https?:\/\//i.test(text)) return url.href.replace(/\/+$/, '');
  return invalid(context);
});
const duration = z.string().transform((text, context) => parseDuration(text) ?? invalid(context));
export const decimal = (pattern: RegExp, min: number, max: number) =>
  z.string().transform((text, context) => {
    const number = pattern.test(text) ? Number(text) : NaN;
    return number >= min && number <= max ? number : invalid(context);
  });
export const namespace = z.string().regex(DNS_LABEL);
export const namespaces = z
  .string()
  .transform((text) => [...new Set(text === '' ? [] : text.split(',').map((part) => part.trim()))])
  .pipe(z.array(namespace));
/** `10000,team-a=50000`: one sum for every namespace, and others for single ones; 0 means no limit. */
export const prices = z.string().transform((text, context) => parsePrices(text) ?? invalid(context));
export const path = z.string().min(1);
export const bindAddress = z.string().transform((text, context) => parseBindAddress(text) ?? invalid(context));

/** The user sees the flag's `form`; the message of the issue is never shown. */
function invalid(context: z.core.$RefinementCtx): never {
  context.addIssue({ code: 'custom' });
  return z.NEVER;
}

export const URL_FORM = 'an http or https URL without user, query and fragment, such as https://api.example.org';
const DURATION_FORM = `a duration such as 500ms, 60s, 10m or 1m30s, above 0 and at most ${MAX_DURATION_DAYS} days`;
export const NAMESPACE_FORM = 'the name of a namespace: at most 63 of a-z, 0-9 and -, with - not first or last';
export const BIND_ADDRESS_FORM = 'an address such as :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none';
export const PRICES_FORM =
  'a number, 0 for no limit, and NAMESPACE=NUMBER for each namespace with another maximum, such as 10000,team-a=50000';
export const durationFlag = { value: 'DURATION', form: DURATION_FORM, schema: duration };
export const booleanFlag = {
  value: 'BOOLEAN',
  form: 'true or false',
  schema: z
    .string()
    .pipe(z.enum(['true', 'false']))
    .transform((text) => text === 'true'),
  default: 'false',
  boolean: true,
} as const;

interface Prices {
  usual: number;
  namespaces: Record<string, number>;
}

/** Undefined if a part is wrong, or if two parts are about the same namespaces. */
function parsePrices(text: string): Prices | undefined {
  const given = new Map<string, number>();
  for (const part of text.split(',')) {
    const [, name = '', price] = /^(?:([^=]+)=)?(\d{1,12}(?:\.\d{1,6})?)$/.exec(part.trim()) ?? [];
    if (price === undefined || given.has(name) || (name !== '' && !DNS_LABEL.test(name))) return undefined;
    given.set(name, Number(price));
  }
  const { '': usual = 0, ...namespaces } = Object.fromEntries(given);
  return { usual, namespaces };
}

/** Where to listen: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, or `0` to disable the server. */
export interface BindAddress {
  /** Undefined means all addresses of the machine. */
  host: string | undefined;
  /** 0 means any free port. */
  port: number;
}

const FORM = /^(?:\[(?<v6>[^[\]]+)\]|(?<host>[^[\]:\s/@]*)):(?<port>\d{1,5})$/;

/** `off` for `0`; undefined if the text is not a bind address. */
function parseBindAddress(text: string): BindAddress | 'off' | undefined {
  if (text === '0') return 'off';
  const { v6, host, port } = FORM.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65535 || (v6 !== undefined && !isIPv6(v6))) return undefined;
  const name = v6 ?? host ?? '';
  return { host: name === '' ? undefined : name, port: Number(port) };
}

/** True if the process cannot listen on both. */
export function overlap(a: BindAddress, b: BindAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || isEverywhere(a) || isEverywhere(b);
}

function isEverywhere({ host }: BindAddress): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
