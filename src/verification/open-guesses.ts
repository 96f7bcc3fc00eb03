import type { Caller } from '../keys/caller.ts'

/** One guess, shared by the identical requests that run at the same time: a double click counts once. */
export type OpenGuess = { readonly name: string; holders: number; counted: boolean }

export type OpenGuesses = {
  /** `subject` is the keyed hash of the number, in hex. */
  readonly join: (caller: Caller, subject: string, guessed: string) => OpenGuess
  readonly leave: (guess: OpenGuess) => void
}

export function createOpenGuesses(): OpenGuesses {
  const open = new Map<string, OpenGuess>()
  return {
    join: ({ lineage }, subject, guessed) => {
      const name = `${lineage}|${subject}|${guessed}`
      const guess = open.get(name) ?? { name, holders: 0, counted: false }
      guess.holders += 1
      open.set(name, guess)
      return guess
    },
    leave: (guess) => {
      guess.holders -= 1
      if (guess.holders === 0) open.delete(guess.name)
    },
  }
}
