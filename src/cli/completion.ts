import { Argument, type Command } from 'commander'
import { say } from '../app/terminal.ts'
import { toBashScript } from './completion/bash.ts'
import { toFishScript } from './completion/fish.ts'
import { listPlaces } from './completion/places.ts'
import { toZshScript } from './completion/zsh.ts'

const SCRIPTS = { bash: toBashScript, zsh: toZshScript, fish: toFishScript } as const

/** `loadAll` adds the other commands, which are not loaded when this one is named. */
export const createAddCompletionCommand =
  (loadAll: (program: Command) => Promise<void>) =>
  (program: Command): void => {
    program
      .command('completion')
      .description('print a script that completes commands and options in your shell')
      .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
      .addHelpText(
        'after',
        `
To use it:
  bash   tabbat completion bash > ~/.local/share/bash-completion/completions/tabbat
  zsh    tabbat completion zsh > "\${fpath[1]}/_tabbat"
  fish   tabbat completion fish > ~/.config/fish/completions/tabbat.fish`,
      )
      .action(async (shell: keyof typeof SCRIPTS) => {
        await loadAll(program)
        say(SCRIPTS[shell](listPlaces(program)))
      })
  }
