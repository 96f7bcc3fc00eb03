<?php

declare(strict_types=1);

namespace Tabbat;

use ArrayAccess;
use ArrayIterator;
use Countable;
use IteratorAggregate;
use LogicException;
use Traversable;

/**
 * An object of a response that may be about a person: $record['personal_info']['gender']. The objects in it are records, too. A dump of it
 * shows the names of its fields, and values only where they tell nothing about a person. toArray() gives all.
 *
 * @implements ArrayAccess<string, mixed>
 * @implements IteratorAggregate<string, mixed>
 */
final class Record implements ArrayAccess, Countable, IteratorAggregate
{
    /** Wherever they stand. "state" is not one: the next of kin has it too. */
    private const SHOWN = ['id', 'mode', 'rows', 'line', 'status', 'success', 'code', 'operation', 'request_reference', 'service_type'];

    private readonly Hidden $values;

    /** @param array<string, mixed> $values */
    public function __construct(#[\SensitiveParameter] array $values)
    {
        $this->values = new Hidden($values);
    }

    /** @return array<string, mixed> */
    public function toArray(): array
    {
        return $this->values->get();
    }

    public function offsetExists(mixed $offset): bool
    {
        return isset($this->values->get()[$offset]);
    }

    public function offsetGet(mixed $offset): mixed
    {
        return self::wrap($this->values->get()[$offset] ?? null);
    }

    public function offsetSet(mixed $offset, #[\SensitiveParameter] mixed $value): void
    {
        throw new LogicException('A record cannot be changed.');
    }

    public function offsetUnset(mixed $offset): void
    {
        throw new LogicException('A record cannot be changed.');
    }

    public function getIterator(): Traversable
    {
        return new ArrayIterator(array_map(self::wrap(...), $this->values->get()));
    }

    public function count(): int
    {
        return count($this->values->get());
    }

    /** Lists stay arrays, of records if they have objects. An empty object cannot be told from an empty list. */
    private static function wrap(#[\SensitiveParameter] mixed $value): mixed
    {
        return match (true) {
            !is_array($value) => $value,
            array_is_list($value) => array_map(self::wrap(...), $value),
            default => new self($value),
        };
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        $values = $this->values->get();
        $shown = array_intersect_key($values, array_flip(self::SHOWN));
        return array_merge(array_fill_keys(array_keys($values), '…'), $shown);
    }
}
