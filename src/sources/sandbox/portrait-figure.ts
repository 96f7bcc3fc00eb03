import type { Gender } from './names.ts'
import { type Backdrop, type Cloth, HAIR, type Skin } from './portrait-palette.ts'
import { dots, line, mirrored, oval, shape } from './portrait-shapes.ts'

export const drawBackdrop = ({ wall, glow }: Backdrop) =>
  `<rect width="320" height="400" fill="${wall}"/>${oval(160, 178, 146, 146, glow)}`

export const drawBody = (gender: Gender, skin: Skin, cloth: Cloth) =>
  gender === 'm' ? drawKaftan(skin, cloth) : drawBlouse(skin, cloth)

/** A kaftan: a standing collar and an embroidered front. */
const drawKaftan = (skin: Skin, cloth: Cloth) =>
  shape('M4 400 C6 322 44 300 114 276 L206 276 C276 300 314 322 316 400 Z', cloth.main) +
  shape('M124 208 L124 272 C126 300 146 312 160 316 C174 312 194 300 196 272 L196 208 Z', skin.base) +
  shape('M124 222 C138 260 182 260 196 222 L196 238 C182 280 138 280 124 238 Z', skin.shade) +
  mirrored(
    shape(
      'M108 280 C106 268 112 260 124 256 C126 282 142 300 160 308 L160 330 C138 322 116 306 108 280 Z',
      cloth.dark,
    ) + line('M56 312 C46 336 44 366 46 400', cloth.dark, 4),
  ) +
  shape('M138 314 C150 326 170 326 182 314 L180 400 L140 400 Z', cloth.dark) +
  line('M146 328 L148 400 M174 328 L172 400', cloth.trim, 2.5) +
  [340, 362, 384].map((y) => oval(160, y, 3.5, 3.5, cloth.trim)).join('')

/** A round-necked blouse with a printed border. */
const drawBlouse = (skin: Skin, cloth: Cloth) =>
  shape('M26 400 C28 330 60 304 118 282 L202 282 C260 304 292 330 294 400 Z', skin.base) +
  shape(
    'M130 208 L130 268 C130 280 122 284 110 288 L210 288 C198 284 190 280 190 268 L190 208 Z',
    skin.base,
  ) +
  shape('M130 222 C142 258 178 258 190 222 L190 236 C178 276 142 276 130 236 Z', skin.shade) +
  shape('M26 400 C28 330 58 304 100 288 C106 346 214 346 220 288 C262 304 292 330 294 400 Z', cloth.main) +
  line('M101 291 C108 348 212 348 219 291', cloth.dark, 12) +
  dots('M102 296 C112 347 208 347 218 296', cloth.trim, 5, 11) +
  mirrored(line('M74 322 C66 344 64 370 66 400', cloth.dark, 4))

export const drawHead = (skin: Skin) =>
  mirrored(oval(98, 168, 11, 18, skin.base) + oval(98, 169, 5, 10, skin.shade)) +
  shape(
    'M98 156 C98 98 124 74 160 74 C196 74 222 98 222 156 C222 206 196 248 160 248 C124 248 98 206 98 156 Z',
    skin.base,
  )

export const drawFace = (gender: Gender, skin: Skin) =>
  drawEyes(gender) + drawNose(skin) + drawMouth(gender, skin)

function drawEyes(gender: Gender): string {
  const isMan = gender === 'm'
  const brow = isMan
    ? line('M117 146 C126 138 140 138 149 143', HAIR, 6)
    : line('M117 144 C126 134 140 134 149 141', HAIR, 4) + line('M119 165 L113 160', HAIR, 3)
  const eye =
    shape('M119 166 C126 154 142 154 149 166 C142 174 126 174 119 166 Z', '#fbf7f1') +
    oval(134, 164, 6.4, 6.8, '#2a1710') +
    oval(136, 161.5, 1.9, 1.9, '#ffffff') +
    line('M118 166 C126 153 142 153 150 166', HAIR, isMan ? 2.5 : 3.5)
  // The glints must fall on the same side, so the eyes are shifted, not mirrored.
  return `${mirrored(brow)}${eye}<g transform="translate(52 0)">${eye}</g>`
}

const drawNose = (skin: Skin) =>
  line('M154 168 C152 180 148 188 147 195 C149 203 156 201 160 204 C164 201 171 203 173 195', skin.shade, 3.5)

const drawMouth = (gender: Gender, skin: Skin) =>
  shape(
    'M136 219 C144 214 154 213 160 216 C166 213 176 214 184 219 C176 232 168 235 160 235 C152 235 144 232 136 219 Z',
    gender === 'm' ? skin.lip : '#a3423f',
  ) + shape('M140 219.5 C152 222 168 222 180 219.5 C172 226.5 148 226.5 140 219.5 Z', '#fdf8f3')
