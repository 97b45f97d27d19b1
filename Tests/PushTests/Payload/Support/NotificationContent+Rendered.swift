import PushmillPayload
import PushmillTestSupport
import Testing

extension NotificationContent {
    var rendered: String {
        var output: [UInt8] = []
        render(into: &output)
        expect(output.count, is: renderedByteCount)
        return String(decoding: output, as: UTF8.self)
    }

    mutating func read(_ json: String) throws(PayloadError) {
        try Array(json.utf8).withUnsafeBufferPointer { (bytes) throws(PayloadError) in
            try read(UnsafeRawBufferPointer(bytes))
        }
    }
}
