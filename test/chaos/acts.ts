/** Steps that many scenarios share. */
import type { Stage } from './stage.ts';

export async function begin(stage: Stage): Promise<void> {
  await stage.people.putSecret();
  await stage.start();
}

export async function removed(stage: Stage, name: string): Promise<void> {
  await stage.people.remove(name);
  await stage.gone(name);
}

/** Stops the operator if one runs. */
export async function stopped(stage: Stage): Promise<void> {
  const replica = stage.leader;
  // The fault may hit a request of a process that stops, and start another one.
  while (replica.pid !== undefined || stage.traffic.isStruck) {
    stage.violations.push(...(await replica.stop()));
    await stage.until('the fault to be over', () => !stage.traffic.isStruck);
  }
  stage.calm.clear();
}
