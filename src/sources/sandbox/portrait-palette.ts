export type Skin = { readonly base: string; readonly shade: string; readonly lip: string }
export const SKINS: readonly Skin[] = [
  { base: '#5b3a29', shade: '#472b1d', lip: '#7a3f38' },
  { base: '#6f4632', shade: '#583524', lip: '#8c4a42' },
  { base: '#845538', shade: '#6b4229', lip: '#a0564b' },
  { base: '#99663f', shade: '#7f5130', lip: '#ad5f52' },
  { base: '#ad7850', shade: '#915f3b', lip: '#bb6b5e' },
  { base: '#4a2d20', shade: '#382016', lip: '#6b352f' },
]

/** `wrap` and `fold` colour the head-wrap that goes with the clothes. */
export type Cloth = {
  readonly main: string
  readonly dark: string
  readonly trim: string
  readonly wrap: string
  readonly fold: string
}
export const CLOTHES: readonly Cloth[] = [
  { main: '#1f5f5b', dark: '#16474a', trim: '#e8c468', wrap: '#c8782a', fold: '#9c5719' },
  { main: '#f3efe4', dark: '#d9d1bd', trim: '#b08d3f', wrap: '#b5305a', fold: '#8a1f42' },
  { main: '#2f4b8a', dark: '#223868', trim: '#f2f0e6', wrap: '#d9a441', fold: '#ad7c22' },
  { main: '#b4472f', dark: '#8c3423', trim: '#f4d9a6', wrap: '#2d6a64', fold: '#1e4d4b' },
  { main: '#7a3e74', dark: '#5c2c58', trim: '#f0c9d6', wrap: '#c9a13b', fold: '#9b7822' },
  { main: '#d59a2b', dark: '#ad7a1c', trim: '#4b2e1a', wrap: '#8c2f39', fold: '#661f28' },
]

export type Backdrop = { readonly wall: string; readonly glow: string }
export const BACKDROPS: readonly Backdrop[] = [
  { wall: '#cfe3dc', glow: '#e4f1ec' },
  { wall: '#f1dcc0', glow: '#f9ecd9' },
  { wall: '#cddcec', glow: '#e2ecf6' },
  { wall: '#ead3cf', glow: '#f5e6e3' },
  { wall: '#dcd8ea', glow: '#ecebf5' },
  { wall: '#dbe2c4', glow: '#ebf0dc' },
]

export const HAIR = '#1d1613'
export const HAIR_LIGHT = '#3a2d27'
export const GOLD = '#d8a93a'
