import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('leaves a process that holds the pipes of this one', () => {
  const { pid } = spawn('sleep', ['600'], { stdio: 'inherit' })
  appendFileSync(process.env.PLANTED_PIDS ?? '', `${pid}\n`)
  expect(pid).toBeUndefined()
})
