/** What a call came to: a value, or why there is none. Plain data: tests compare it, and the compiler narrows it by `ok`. */
export type Result<T, E = string> = { readonly ok: true; readonly value: T } | Err<E>;
export type Err<E> = { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): Err<E> => ({ ok: false, error });
