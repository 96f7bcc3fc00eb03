<?php

declare(strict_types=1);

namespace Tabbat;

use LogicException;
use WeakMap;

/**
 * Keeps a value that no dump shows. It is not in a property, so that var_dump, print_r, var_export, json_encode, a cast to an array
 * and the dumpers and loggers of frameworks do not find it.
 *
 * @internal
 */
final class Hidden
{
    /** @var WeakMap<self, mixed>|null */
    private static ?WeakMap $values = null;

    public function __construct(#[\SensitiveParameter] mixed $value)
    {
        self::$values ??= new WeakMap();
        self::$values[$this] = $value;
    }

    public function get(): mixed
    {
        return self::$values[$this];
    }

    public function __clone()
    {
        throw new LogicException('A hidden value cannot be cloned.');
    }

    public function __serialize(): array
    {
        throw new LogicException('Clients and records of Tabbat cannot be serialized. Keep the reference instead.');
    }

    public function __unserialize(array $data): void
    {
        throw new LogicException('Clients and records of Tabbat cannot be serialized.');
    }
}
