import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/postgres.ts'],
    // Many tests wait for disks, sockets and processes: three at once are done sooner, also on two cores.
    maxWorkers: 3,
    // A worker runs many files, and loads the modules of the product once.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A second is too short for a password hash or a browser on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
})
