/** Parses JSON of any size as it arrives, without the parts that the caller does not use. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Assembler from 'stream-json/assembler.js';
import { ignore } from 'stream-json/filters/ignore.js';
import { KubeError } from './error.ts';

/** Where a value is: the keys and indexes that lead to it. */
export type JsonPath = readonly (string | number | null)[];

type Token = Parameters<Assembler['consume']>[0];

/** Throws KubeError `BadResponse` for anything that is not JSON; errors of `body` pass through. */
export async function parsePartially(
  body: AsyncIterable<Buffer>,
  isUnused: (path: JsonPath) => boolean,
): Promise<unknown> {
  const assembler = new Assembler();
  let failure: { error: unknown } | undefined;
  // Not `yield*`: an error of the parser is thrown into this generator, and would look like one of the body.
  async function* read(): AsyncGenerator<Buffer> {
    const chunks = body[Symbol.asyncIterator]();
    const failed = (error: unknown): never => {
      failure = { error };
      throw error;
    };
    try {
      for (;;) {
        const next = await chunks.next().catch(failed);
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await chunks.return?.();
    }
  }
  try {
    const used = ignore.withParserAsStream({ filter: isUnused, streamValues: false });
    await pipeline(Readable.from(read()), used, async (tokens: AsyncIterable<Token>) => {
      for await (const token of tokens) assembler.consume(token);
    });
  } catch {
    if (failure !== undefined) throw failure.error;
    // The parser's own message quotes the text.
    throw notJson();
  }
  if (!assembler.done) throw notJson();
  return assembler.current;
}

function notJson(): KubeError {
  return new KubeError('BadResponse', 'the answer is not JSON');
}
