/**
 * Reads percent and seconds from a task's status text. The provider does not specify the wording; unmatched text is
 * ignored.
 */

export interface TaskProgress {
  percent?: number;
  secondsRemaining?: number;
}

export function readProgress(text: string | undefined): TaskProgress {
  if (text === undefined) return {};
  const percent = /\b(?<!\d\.)(\d{1,3})(?:\.\d+)?\s?(?:%|percent\b)/i.exec(text)?.[1];
  const seconds = /\b(?<!\d\.)(\d{1,9})\s?(?:s|secs?|seconds?)\b/i.exec(text)?.[1];
  return {
    ...(percent !== undefined && Number(percent) <= 100 && { percent: Number(percent) }),
    ...(seconds !== undefined && { secondsRemaining: Number(seconds) }),
  };
}
