import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

/** Commands and worker threads are those of the checkout, so that coverage has their places. */
const BUNDLED = 'test/bundled-program.ts'

type Project = { readonly test: { readonly setupFiles?: string | string[] } }

const projects = (base.test?.projects ?? []).map((each) => {
  const { test } = each as Project
  const setup = [test.setupFiles ?? []].flat().filter((file) => file !== BUNDLED)
  return { test: { ...test, setupFiles: [...setup, 'test/block-coverage/take-coverage.ts'] } }
})

export default defineConfig({ test: { ...base.test, projects } } as Parameters<typeof defineConfig>[0])
