import type { Gender } from './names.ts'
import { type Cloth, GOLD, HAIR, HAIR_LIGHT } from './portrait-palette.ts'
import { line, mirrored, oval, shape } from './portrait-shapes.ts'

/** Hair or head-dress: what lies behind the shoulders, and what lies over the face. */
export type Head = { readonly behind: string; readonly front: (cloth: Cloth) => string }

const HAIRLINE =
  'M96 158 C90 96 116 64 160 64 C204 64 230 96 224 158 C220 140 216 124 204 112 C178 98 142 98 116 112 C104 124 100 140 96 158 Z'

const afro: Head = {
  behind: oval(160, 128, 104, 100, HAIR) + mirrored(oval(84, 178, 30, 40, HAIR)),
  front: () => shape(HAIRLINE, HAIR),
}

const BRAID_LINES =
  'M80 130 C66 190 62 260 66 330 M94 120 C78 190 76 260 80 338 M108 110 C94 190 92 260 94 336'
const braids: Head = {
  behind:
    shape(
      'M160 58 C92 58 78 116 66 190 C56 250 52 300 58 340 L112 340 L112 160 L208 160 L208 340 L262 340 C268 300 264 250 254 190 C242 116 228 58 160 58 Z',
      HAIR,
    ) + mirrored(line(BRAID_LINES, HAIR_LIGHT, 3)),
  front: () =>
    shape(
      'M94 172 C86 96 116 62 160 62 C204 62 234 96 226 172 C220 132 196 104 160 94 C124 104 100 132 94 172 Z',
      HAIR,
    ) + mirrored(line('M158 66 C130 78 106 104 98 148 M159 80 C140 90 120 106 106 130', HAIR_LIGHT, 3)),
}

const bun: Head = {
  behind:
    oval(160, 46, 42, 36, HAIR) +
    line('M130 42 C142 24 178 24 190 42 M136 60 C148 46 172 46 184 60', HAIR_LIGHT, 3),
  front: (cloth) =>
    shape(HAIRLINE, HAIR) +
    mirrored(line('M152 70 C132 78 116 92 108 112', HAIR_LIGHT, 3)) +
    line('M128 72 C144 62 176 62 192 72', cloth.main, 10),
}

const bob: Head = {
  behind: shape(
    'M160 56 C88 56 76 120 74 180 C72 222 80 246 92 254 L228 254 C240 246 248 222 246 180 C244 120 232 56 160 56 Z',
    HAIR,
  ),
  front: () =>
    shape(
      'M92 186 C82 96 116 60 160 60 C204 60 238 96 228 186 C222 150 214 128 196 116 C170 122 136 118 122 104 C110 124 98 150 92 186 Z',
      HAIR,
    ) + line('M124 100 C140 84 164 74 190 76', HAIR_LIGHT, 3),
}

const gele: Head = {
  behind: '',
  front: (cloth) =>
    shape(
      'M94 142 C54 130 22 96 40 58 C52 36 82 48 108 38 C150 8 222 -2 264 24 C306 52 300 108 226 142 C194 104 126 104 94 142 Z',
      cloth.wrap,
    ) +
    line(
      'M102 128 C76 112 60 84 70 50 M120 114 C104 92 98 66 108 40 M144 106 C136 80 140 48 158 20 M168 104 C168 76 178 42 202 12 M192 108 C204 82 222 46 246 20 M210 118 C232 98 258 68 276 36 M222 130 C250 114 280 92 290 72',
      cloth.fold,
      4,
    ) +
    shape(
      'M90 152 C87 134 92 122 98 114 C130 86 190 86 222 114 C228 122 233 134 230 152 C198 114 122 114 90 152 Z',
      cloth.fold,
    ) +
    line('M94 134 C126 99 194 99 226 134', cloth.wrap, 3),
}

const hijab: Head = {
  behind: '',
  front: (cloth) =>
    shape(
      'M160 46 C94 46 76 100 76 164 C76 214 74 250 58 284 C38 306 28 340 26 400 L294 400 C292 340 282 306 262 284 C246 250 244 214 244 164 C244 100 226 46 160 46 Z M160 100 C124 100 106 124 106 162 C106 208 128 246 160 250 C192 246 214 208 214 162 C214 124 196 100 160 100 Z',
      cloth.main,
    ) +
    line('M106 162 C106 124 124 100 160 100 C196 100 214 124 214 162', cloth.dark, 6) +
    line(
      'M110 206 C124 262 184 282 246 252 M102 226 C110 300 190 326 262 284 M84 262 C96 352 220 372 286 336',
      cloth.dark,
      4,
    ),
}

const womensHeads = [gele, afro, braids, hijab, bun, bob]

const lowCut: Head = { behind: '', front: () => shape(HAIRLINE, HAIR) }

const shortAfro: Head = {
  behind: '',
  front: () =>
    shape(
      'M94 160 C80 130 84 92 108 70 C134 46 186 46 212 70 C236 92 240 130 226 160 C222 138 216 122 202 114 C178 102 142 102 118 114 C104 122 98 138 94 160 Z',
      HAIR,
    ),
}

const bald: Head = { behind: '', front: () => line('M126 104 C136 92 150 86 164 86', '#ffffff22', 8) }

const fila: Head = {
  behind: '',
  front: (cloth) =>
    shape(
      'M92 136 C92 100 96 66 120 54 C154 36 232 38 256 72 C268 92 246 108 226 114 C228 122 228 130 228 136 C196 110 124 110 92 136 Z',
      cloth.main,
    ) +
    shape('M226 114 C246 108 268 92 256 72 C240 88 214 96 184 98 C200 102 216 108 226 114 Z', cloth.dark) +
    line('M96 120 C128 98 190 98 224 118', cloth.trim, 3),
}

const hula: Head = {
  behind: '',
  front: (cloth) =>
    shape('M92 136 L100 60 C124 44 196 44 220 60 L228 136 C196 110 124 110 92 136 Z', cloth.main) +
    line('M100 62 C124 76 196 76 220 62', cloth.dark, 3) +
    line('M98 96 L112 78 L126 92 L143 74 L160 90 L177 74 L194 92 L208 78 L222 96', cloth.trim, 3.5) +
    line('M94 124 C126 98 194 98 226 124', cloth.trim, 3),
}

const redCap: Head = {
  behind: '',
  front: () =>
    shape('M92 138 C88 90 112 48 160 48 C208 48 232 90 228 138 C196 112 124 112 92 138 Z', '#a8231f') +
    line('M93 128 C126 102 194 102 227 128', '#7f1715', 9) +
    line('M214 100 C232 76 240 52 238 30', '#f3efe4', 5) +
    line('M214 100 C232 76 240 52 238 30', GOLD, 1.5),
}

const mensHeads = [lowCut, fila, shortAfro, hula, bald, redCap]

export const HEADS: Record<Gender, readonly Head[]> = { m: mensHeads, f: womensHeads }
