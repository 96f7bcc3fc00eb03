/** The kinds of numbers that identify a person, as the options of a field. */
export const NUMBER_KINDS = [
  { value: 'nin', text: 'NIN' },
  { value: 'bvn', text: 'BVN' },
] as const
