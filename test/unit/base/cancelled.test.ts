import { describe, expect, it } from 'vitest';
import { saysDone } from '../../../src/base/cancelled.ts';

describe('a refusal to cancel a server', () => {
  it.each([
    'already cancelled',
    'cancelled already',
    'Server is already being removed, or was deleted',
    'The server was cancelled on 2026-01-02',
    'This server has been terminated.',
    'Server vs1 no longer exists',
    'The server does not exist',
    'Server is gone',
  ])('says that this was done before: %s', (refusal) => {
    expect(saysDone(refusal)).toBe(true);
  });

  it.each([
    '',
    'Conflict',
    'Server is locked: another task is running',
    'Server cannot be deleted while another task is running',
    "The server is being moved and can't be removed",
    'Delete protection is on, so the server is not deleted',
    'You can no longer cancel this server: a task is running',
    'The server must be stopped before it is cancelled',
    'The server has not been cancelled',
    'Wait until the snapshot is deleted',
  ])('says something else: %s', (refusal) => {
    expect(saysDone(refusal)).toBe(false);
  });
});
