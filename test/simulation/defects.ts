import type { Invariant } from './checks.ts'
import type { Defect } from './hooks.ts'

/** A defect that must be found, and the invariant that it breaks. */
export type PlantedDefect = { readonly defect: Defect; readonly breaks: Invariant }

/** Changes of one place each, in the text that the simulation loads: the files stay as they are. */
export const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'synchronous-off': {
    breaks: 'no acknowledged verification without its rows',
    defect: {
      file: 'src/database/sqlite.ts',
      find: 'PRAGMA synchronous = FULL',
      replace: 'PRAGMA synchronous = OFF',
    },
  },
}
