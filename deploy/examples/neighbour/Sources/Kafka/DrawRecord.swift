/// A record that a producer sends to the topic `draws` when numbers are drawn: one for each recipient.
public struct DrawRecord: Sendable {
    public let key: String
    public let value: String

    public init(recipient: String, numbers: [Int]) {
        key = recipient
        let alert = #"{"title":"Today's draw","body":"Open the app to see your luck."}"#
        value = #"{"aps":{"alert":\#(alert),"mutable-content":1},"numbers":\#(numbers)}"#
    }
}
