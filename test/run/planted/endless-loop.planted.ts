import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { it } from 'vitest'

it('never yields, after it has started a process', async () => {
  const { pid } = spawn('sleep', ['600'], { stdio: 'inherit' })
  appendFileSync(process.env.PLANTED_PIDS ?? '', `${pid}\n`)
  for (;;) await undefined
})
