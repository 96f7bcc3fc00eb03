import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

/** Node.js loads the files of the checkout itself, in tests, commands and worker threads, so that coverage has their places. */
const native = { viteModuleRunner: false, nodeLoader: false }
const BUNDLED = 'test/bundled-program.ts'

type Project = { readonly test: { readonly setupFiles?: string | string[] } }

const projects = (base.test?.projects ?? []).map((each) => {
  const { test } = each as Project
  const setup = [test.setupFiles ?? []].flat().filter((file) => file !== BUNDLED)
  return {
    test: { ...test, experimental: native, setupFiles: [...setup, 'test/block-coverage/take-coverage.ts'] },
  }
})

export default defineConfig({ test: { ...base.test, experimental: native, projects } } as Parameters<
  typeof defineConfig
>[0])
