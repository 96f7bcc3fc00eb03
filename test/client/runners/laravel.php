<?php

/** Starts an application of Laravel with the service provider, and asks it for the client. */

declare(strict_types=1);

use Illuminate\Config\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Support\ServiceProvider;
use Tabbat\Http\HttpClient;
use Tabbat\Http\Request;
use Tabbat\Http\Response;
use Tabbat\Laravel\TabbatServiceProvider;
use Tabbat\Tabbat;
use Tabbat\TabbatException;

// Laravel 8 of Debian is older than its PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
[, $autoload, $folder] = $argv;
require $autoload;
require __DIR__ . '/../../../packages/php/autoload.php';

function start(string $folder, array $settings = []): Application
{
    $app = new Application($folder);
    $app->instance('config', new Repository($settings));
    $app->register(TabbatServiceProvider::class);
    $app->boot();
    return $app;
}

$app = start($folder);
$tabbat = $app->make(Tabbat::class);
echo $tabbat->verifyNin(nin: '12345678901', phone: '08031234567')->verified ? "verified\n" : "not verified\n";
echo $tabbat === $app->make(Tabbat::class) ? "one client for all\n" : "several\n";
echo implode("\n", ServiceProvider::pathsToPublish(null, 'tabbat-config')), "\n";
try {
    start($folder, ['tabbat' => ['key' => '']])->make(Tabbat::class);
} catch (TabbatException $error) {
    echo "$error->errorCode: {$error->getMessage()}\n";
}
$app = start($folder, ['tabbat' => ['max_retries' => 0]]);
$app->instance(HttpClient::class, new class () implements HttpClient {
    public function send(Request $request, float $timeoutS): Response
    {
        throw new TabbatException('network_error', 'Nothing is sent.');
    }
});
try {
    $app->make(Tabbat::class)->listSmeBundles();
} catch (TabbatException $error) {
    echo "its own HTTP client: $error->errorCode\n";
}
