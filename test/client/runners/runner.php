<?php

/** Makes the calls of scenarios.test.ts with the client for PHP: a JSON line in, a JSON line out. With "psr18", by Guzzle. */

declare(strict_types=1);

use Tabbat\Http\Psr18HttpClient;
use Tabbat\Internal\Retry;
use Tabbat\NotVerified;
use Tabbat\Pending;
use Tabbat\Record;
use Tabbat\Tabbat;
use Tabbat\TabbatException;
use Tabbat\Verified;
use Tabbat\Webhooks;

// The worst case for traces: PHP would record the arguments of all functions.
ini_set('zend.exception_ignore_args', '0');
require __DIR__ . '/../../../packages/php/autoload.php';
foreach (array_slice($argv, 1) as $file) {
    require_once $file;
}

function toCamelCase(array $args): array
{
    $names = array_map(static fn (string $name): string => lcfirst(str_replace('_', '', ucwords($name, '_'))), array_keys($args));
    return array_combine($names, $args);
}

function open(array $client): Tabbat
{
    global $argc;
    $http = $argc === 1 ? null : new Psr18HttpClient(new GuzzleHttp\Client(), new GuzzleHttp\Psr7\HttpFactory(), new GuzzleHttp\Psr7\HttpFactory());
    return new Tabbat(...toCamelCase(array_filter($client, static fn (mixed $value): bool => $value !== null)), http: $http);
}

function make(?Tabbat $tabbat, string $call, array $args): mixed
{
    if ($call === 'webhook') {
        return Webhooks::verify($args['headers'], $args['body'], $args['secret'], $args['tolerance_s']);
    }
    if ($call === 'retry_after') {
        return Retry::readAfterS($args['headers']) ?? 0;
    }
    if ($call === 'delays') {
        return array_map(static fn (): float => Retry::toDelayS($args['retries'], $args['retry_after_s'] ?? null), range(1, 200));
    }
    $args = toCamelCase($args);
    if (preg_match('/^(pending|batches)_(\w+)$/', $call, $found)) {
        $result = $tabbat->{$found[1]}->{$found[2]}(...$args);
        return $result instanceof Generator ? iterator_to_array($result) : $result;
    }
    $method = lcfirst(str_replace('_', '', ucwords($call, '_')));
    return $tabbat->$method(...$args);
}

/** All that a program or a logger may print of a value. */
function dump(mixed $value): array
{
    ob_start();
    var_dump($value);
    return [(string) ob_get_clean(), print_r($value, true), var_export($value, true), (string) json_encode($value), print_r((array) $value, true)];
}

function describeResult(string $call, mixed $result): array
{
    return match (true) {
        $call === 'retry_after', $call === 'delays' => ['kind' => 'value', 'value' => $result],
        $call === 'webhook' => ['kind' => 'event', ...(array) $result],
        $call === 'batches_results' => ['kind' => 'rows', 'references' => array_map(static fn (Record $row): mixed => $row['reference'], $result), 'texts' => dump($result)],
        is_array($result) => ['kind' => 'list', 'count' => count($result), 'first' => $result[0] ?? null],
        $result === null => ['kind' => 'done'],
        $result instanceof Record => ['kind' => 'batch', ...$result->toArray(), 'texts' => dump($result)],
        $result instanceof Pending => ['kind' => 'pending', 'reference' => $result->reference, 'texts' => dump($result)],
        $result instanceof NotVerified => ['kind' => 'not_verified', 'reference' => $result->reference, 'texts' => dump($result)],
        $result instanceof Verified => [
            'kind' => 'verified',
            'reference' => $result->reference,
            'person' => $result->person->toArray(),
            'match' => $result->match,
            'texts' => [...dump($result), ...dump($result->person['personal_info']), ...dump(array_filter(iterator_to_array($result->person), is_object(...))), serializeRefused($result)],
        ],
    };
}

function serializeRefused(object $value): string
{
    try {
        return serialize($value);
    } catch (LogicException $error) {
        return $error->getMessage();
    }
}

function describeError(TabbatException $error): array
{
    return [
        'kind' => 'error',
        'code' => $error->errorCode,
        'status' => $error->status,
        'retryable' => $error->retryable,
        'message' => $error->getMessage(),
        'fields' => array_keys($error->fields),
        'has_request_id' => $error->requestId !== null,
        'has_reference' => $error->reference !== null,
        ...($error->retryAfterS === null ? [] : ['retry_after_s' => $error->retryAfterS]),
        'texts' => [
            ...dump($error),
            (string) $error,
            $error->getTraceAsString(),
            print_r($error->getTrace(), true),
            print_r($error->getPrevious(), true),
            json_encode($error->toArray(), JSON_THROW_ON_ERROR),
            serialize($error),
        ],
    ];
}

[$current, $tabbat] = [null, null];
while (($line = fgets(STDIN)) !== false) {
    $task = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    try {
        if ($current !== $task['scenario']) {
            $tabbat = null;
            $tabbat = open($task['client']);
            $current = $task['scenario'];
        }
        $described = describeResult($task['call'], make($tabbat, $task['call'], $task['args']));
        $described['texts'] = [...($described['texts'] ?? []), ...dump($tabbat), ...dump($tabbat->batches), serializeRefused($tabbat)];
    } catch (TabbatException $error) {
        $described = describeError($error);
    }
    echo json_encode($described, JSON_THROW_ON_ERROR), "\n";
}
