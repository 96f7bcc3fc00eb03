import { defineConfig } from 'vitest/config'

/** Files whose tests fail and leave something behind (see test/process/failing-run.test.ts). No run of the project has them. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.planted.ts'],
    setupFiles: ['../watchdog.ts'],
    provide: { maxBusyS: 2 },
    // As in vitest.config.ts of the project.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 3000,
    hookTimeout: 3000,
  },
})
