import Glibc
import Pushmill
import PushmillStages
import PushmillTelemetry

// The service with stages that misbehave for marked recipients. The test that started it holds its standard input open:
// if the test's process dies, the service exits.
let watch = try Thread(named: "watch") {
    var byte: UInt8 = 0
    while read(STDIN_FILENO, &byte, 1) > 0 {}
    _exit(1)
}
withExtendedLifetime(watch) {}

await Program.main(stages: [
    .marked("sleep") { SleepStage(marker: $0, time: $1) },
    .marked("block") { BlockStage(name: "block", suspends: false, marker: $0, time: $1) },
    .marked("stall") { BlockStage(name: "stall", suspends: true, marker: $0, time: $1) },
    .marked("hold") { HoldStage(marker: $0, time: $1) },
    .marked("spawn") { SpawnStage(marker: $0, time: $1) },
    .marked("hang") { marker, _ in HangStage(marker: marker) },
    .gate("gate"),
    .gate("second-gate"),
    .marked("grow") { marker, _ in GrowStage(marker: marker) },
    .marked("fail") { marker, _ in FailStage(marker: marker) },
    .nearbyAttachment,
    .memory,
])
