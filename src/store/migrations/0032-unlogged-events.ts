/**
 * Events that a server is to write to its log. The transactions that cause them run in a command, in a thread, or end a batch
 * as a side effect, so they cannot write it themselves.
 */
export const unloggedEvents = {
  id: 32,
  sql: [
    `CREATE TABLE unlogged_events (
      id TEXT PRIMARY KEY,
      type TEXT NOT NULL,
      data TEXT NOT NULL
    )`,
  ],
} as const
