import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Followed partitions of contacts")
struct FollowedPartitionsTests {
    @Test("Wanted partitions are followed, and are served once they are read to their ends")
    func members() {
        var followed = FollowedPartitions()
        #expect(followed.all.isEmpty && followed.areWhole && followed.areServed)
        followed.become([3, 4])
        expect(followed.all, is: [3, 4])
        followed.complete([3, 7], showing: [3, 7])
        #expect(followed.served == [3] && followed.whole == [3])
        #expect(!followed.areServed && !followed.areWhole)
        followed.complete([3, 4], showing: [3, 4])
        #expect(followed.areServed && followed.areWhole)
        followed.become([4])
        #expect(followed.all == [4] && followed.areServed)
        // Partition 3 is followed from scratch.
        followed.become([3, 4])
        expect(followed.served, is: [4])
    }

    @Test("A partition that is read again from its beginning stays in service")
    func forgotten() {
        var followed = FollowedPartitions()
        followed.become([0, 1])
        followed.complete([0, 1], showing: [0, 1])
        let (isAny, isOther) = (followed.forget([1, 5]), followed.forget([5]))
        #expect(isAny && !isOther)
        #expect(followed.whole == [0] && followed.served == [0, 1])
    }

    @Test("A partition whose contacts are not shown yet is not in service")
    func hidden() {
        var followed = FollowedPartitions()
        followed.become([0, 1])
        followed.complete([0], showing: [])
        #expect(followed.whole == [0] && followed.served.isEmpty)
        followed.become([0, 1])
        expect(followed.whole, is: [0])
        followed.complete([1], showing: [0, 1])
        #expect(followed.areWhole && followed.areServed)
    }

    @Test("A partition whose contacts are not shown yet reaches its end again if others are gone")
    func alone() {
        var followed = FollowedPartitions()
        followed.become([0, 1])
        followed.complete([0], showing: [])
        followed.become([0])
        #expect(followed.whole.isEmpty && followed.served.isEmpty)
    }

    @Test("If the followed partitions change, what is known of the remaining ones is kept")
    func become() {
        var followed = FollowedPartitions()
        followed.become([0, 1, 2])
        followed.complete([0, 2], showing: [0, 2])
        followed.become([0, 1])
        #expect(followed.all == [0, 1] && followed.served == [0])
        followed.become([0, 1, 2])
        #expect(followed.all == [0, 1, 2] && followed.served == [0])
    }

    @Test("A topic that lacks wanted partitions is checked every 2 s, otherwise every 60 s")
    func missing() {
        var followed = FollowedPartitions()
        followed.become([0, 4, 3])
        expect(followed.missing(ofTopic: 3), is: [3, 4])
        expect(followed.looksEvery(ofTopic: 4), is: .seconds(2))
        expect(followed.missing(ofTopic: 5), is: [])
        expect(followed.looksEvery(ofTopic: 5), is: .seconds(60))
    }
}
