/** Reads percent and seconds out of a task's status text. The provider's wording is not specified: what does not match is left out. */

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
