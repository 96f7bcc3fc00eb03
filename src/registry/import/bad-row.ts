/** Why a row is not taken. The reason names fields and rules, never a value. */
export class BadRow extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'BadRow'
  }
}

/** The name of a field as the file spells it, or what stands for it where it may be a value out of place. */
export const toShownName = (name: string): string =>
  /^[A-Za-z_][\w.]{0,79}$/.test(name) && !/\d{6}/.test(name) ? name : '[a name that is not shown]'
