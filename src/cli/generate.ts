import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { say } from '../server/terminal.ts'

export function addGenerateCommand(program: Command): void {
  program
    .command('generate', { hidden: true })
    .description('write the generated files of this checkout: OpenAPI, docs/configuration.md, .env.example')
    .action(async () => {
      if (!existsSync('src/main.ts')) throw new UserError('This folder is not a checkout of Tabbat.')
      const { generate } = await import('../server/generate.ts')
      for (const name of await generate('.')) say(`wrote ${name}`)
    })
}
