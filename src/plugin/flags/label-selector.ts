/**
 * A label selector, as kubectl reads it (k8s.io/apimachinery/pkg/labels): `team=web,!old,tier in (a,b)`. For objects that
 * the API server does not store, such as manifests. Pure.
 */
import { requireSelector } from '../cluster/cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';

export type ManifestLabels = Readonly<Record<string, string>>;
/** Whether an object with these labels is selected. */
export type LabelSelector = (labels: ManifestLabels) => boolean;

const TOKEN = /\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)/gy;
const SYMBOL = /^[=!(),<>]/;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const INTEGER = /^\d+$/;

/** A key such as `constructor` is no label of every object. */
const valueIn = (labels: ManifestLabels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

/** Throws CommandError for a selector that kubectl would refuse, and for an empty one. */
export function labelSelector(text: string): LabelSelector {
  requireSelector(text);
  const tokens = [...text.trim().matchAll(TOKEN)].map(([, token = '']) => token);
  const fail = (why: string): never => {
    throw new CommandError(EXIT.usage, `--selector ${JSON.stringify(text)}: ${why}`);
  };
  const take = (): string | undefined => tokens.shift();
  const found = (token: string | undefined): string => (token === undefined ? 'the end' : JSON.stringify(token));
  const expect = (wanted: string): void => {
    const token = take();
    if (token !== wanted) fail(`found ${found(token)}, expected "${wanted}"`);
  };

  function key(): string {
    const token = take();
    if (token === undefined || SYMBOL.test(token)) return fail(`found ${found(token)}, expected the key of a label`);
    const parts = token.split('/');
    const [name = '', prefix, ...more] = parts.toReversed();
    if (!NAME.test(name) || (prefix !== undefined && !PREFIX.test(prefix)) || more.length > 0)
      fail(`${JSON.stringify(token)} cannot be the key of a label`);
    return token;
  }
  /** A value may be empty. */
  function value(): string {
    const [next] = tokens;
    if (next === undefined || next === ',' || next === ')') return '';
    if (SYMBOL.test(next) || !NAME.test(next)) fail(`${JSON.stringify(next)} cannot be the value of a label`);
    tokens.shift();
    return next;
  }
  function values(): string[] {
    expect('(');
    const all = [value()];
    while (tokens[0] === ',') {
      take();
      all.push(value());
    }
    expect(')');
    return all;
  }
  function bound(): bigint {
    const token = take() ?? '';
    return INTEGER.test(token) ? BigInt(token) : fail(`found ${found(token)}, expected an integer`);
  }
  function requirement(): LabelSelector {
    if (tokens[0] === '!') {
      take();
      const absent = key();
      return (labels) => valueIn(labels, absent) === undefined;
    }
    const label = key();
    const isOneOf =
      (wanted: readonly string[]): LabelSelector =>
      (labels) => {
        const present = valueIn(labels, label);
        return present !== undefined && wanted.includes(present);
      };
    const isNoneOf = (unwanted: readonly string[]): LabelSelector => {
      const isOne = isOneOf(unwanted);
      return (labels) => !isOne(labels);
    };
    const compares =
      (holds: (number: bigint) => boolean): LabelSelector =>
      (labels) => {
        const present = valueIn(labels, label) ?? '';
        return INTEGER.test(present) && holds(BigInt(present));
      };
    if (tokens[0] === undefined || tokens[0] === ',') return (labels) => valueIn(labels, label) !== undefined;
    const operator = take();
    switch (operator) {
      case '=':
      case '==':
        return isOneOf([value()]);
      case '!=':
        return isNoneOf([value()]);
      case 'in':
        return isOneOf(values());
      case 'notin':
        return isNoneOf(values());
      case '>': {
        const least = bound();
        return compares((number) => number > least);
      }
      case '<': {
        const most = bound();
        return compares((number) => number < most);
      }
      default:
        return fail(`found ${found(operator)}, expected =, ==, !=, in, notin, < or >`);
    }
  }

  const requirements = [requirement()];
  while (tokens.length > 0) {
    expect(',');
    requirements.push(requirement());
  }
  return (labels) => requirements.every((holds) => holds(labels));
}
