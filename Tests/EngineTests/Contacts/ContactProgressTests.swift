import Testing

@testable import PushmillEngine

@Suite("Contacts of a topic")
struct ContactProgressTests {
    @Test("How far they are is told until they are there")
    func progress() {
        let progress = ContactProgress(topic: "contacts")
        progress.begin(total: 200, isRestored: false)
        progress.add(50)
        #expect(progress.reason?.word == "contacts-not-restored")
        #expect(progress.reason?.sentence == "contacts are read from the topic contacts: 50 of at most 200 records")
        progress.end()
        #expect(progress.reason == nil && progress.isRestored)
        progress.begin(total: 1, isRestored: true)
        #expect(progress.isRestored)
        progress.begin(total: 1, isRestored: false)
        #expect(!progress.isRestored)
    }
}
