import PushmillStages
import PushmillTestSupport
import Testing

@Suite("Durations and sizes")
struct QuantityFormatTests {
    @Test(
        "A duration is a whole number with a unit, and is written in the largest exact unit",
        arguments: [
            ("200ms", Duration.milliseconds(200), "200ms"), ("1000ms", .seconds(1), "1s"), ("0s", .zero, "0ms"),
            ("30s", .seconds(30), "30s"), ("5m", .seconds(300), "5m"), ("90s", .seconds(90), "90s"),
            ("1h", .seconds(3600), "1h"), ("007s", .seconds(7), "7s"),
        ])
    func duration(text: String, value: Duration, written: String) {
        var settings = SettingReader(["d": Setting(stringLiteral: text)])
        expect(settings.value("d", .duration(.zero ... .seconds(3600)), default: .seconds(77)), is: value)
        expect(settings.messages, is: [])
        expect(settings.shown("d"), is: written)
    }

    @Test(
        "Anything else is not a duration",
        arguments: [
            "", "30", "s", "-1s", "+1s", "1.5s", "1 s", "1S", "1d", "3601s", "9223372036854775807h",
            "99999999999999999999s", "0x1s", "１s", "1s\u{301}",
        ])
    func notADuration(text: String) {
        var settings = SettingReader(["d": Setting(stringLiteral: text)])
        expect(settings.value("d", .duration(.zero ... .seconds(3600)), default: .seconds(77)), is: .seconds(77))
        expect(
            settings.messages,
            is: [
                "d: expected a duration such as 200ms, 30s or 5m, from 0ms to 1h, found \"\(text)\""
            ])
    }

    @Test("A stage may allow durations of any length")
    func anyDuration() {
        var settings = SettingReader(["d": "1h"])
        let value = settings.value("d", .duration(.zero ... .seconds(Int64.max)), default: .seconds(Int64.max))
        expect(value, is: .seconds(3600))
        expect(settings.messages, is: [])
    }

    @Test(
        "A size is a whole number of bytes, with or without a unit",
        arguments: [
            ("512", 512, "512"), ("1024", 1024, "1KiB"), ("64MiB", 64 << 20, "64MiB"), ("10MB", 10_000_000, "10MB"),
            ("3kB", 3000, "3kB"), ("3KB", 3000, "3kB"), ("2GiB", 2 << 30, "2GiB"), ("1GB", 1_000_000_000, "1GB"),
            ("7B", 7, "7"), ("0", 0, "0"),
        ])
    func size(text: String, value: Int, written: String) {
        var settings = SettingReader(["s": Setting(stringLiteral: text)])
        expect(settings.value("s", .byteSize(0...4 << 30), default: 1), is: value)
        expect(settings.messages, is: [])
        expect(settings.shown("s"), is: written)
    }

    @Test(
        "Anything else is not a size",
        arguments: ["", "MB", "-1", "1mb", "1 MB", "1.5MB", "9223372036854775807GiB", "99999999999999999999", "5GiB"])
    func notASize(text: String) {
        var settings = SettingReader(["s": Setting(stringLiteral: text)])
        expect(settings.value("s", .byteSize(0...4 << 30), default: 1), is: 1)
        expect(
            settings.messages, is: ["s: expected a size such as 64MiB or 10MB, from 0 to 4GiB, found \"\(text)\""])
    }
}
