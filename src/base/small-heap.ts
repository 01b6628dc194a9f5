/**
 * Makes V8 collect garbage sooner. By default V8 lets the heap grow as far as the memory of the machine or of the
 * container allows, however little of it is in use.
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of the young generation; V8 would let it grow to 64 MiB and more. A burst of orders needs a few MB. */
const YOUNG_BYTES = 16 * 1024 * 1024;

/** Both flags take effect while the process runs: V8 reads them each time it sizes the heap. */
export function keepHeapSmall(): void {
  // The old generation is collected when it is this much larger than what the last collection left.
  setFlagsFromString('--heap-growing-percent=30');
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    if (young === undefined || young.space_size < YOUNG_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
