import HubProtocol
import Testing

struct FeedPollsTests {
    @Test func `the last polls are kept in a form that is read again`() {
        var polls = FeedPolls()
        for number in 0..<30 { polls.append(number % 2 == 0 ? .read : .failed, minutes: number) }
        #expect(polls.all.count == FeedPolls.maximumCount && polls.text.hasPrefix("r6f7r8"))
        #expect(FeedPolls(polls.text) == polls)
        polls.append(.unchanged, minutes: -5)
        polls.append(.unchanged, minutes: .max)
        #expect(polls.text.hasSuffix("u0u99999"))
    }

    @Test func `of a damaged form, the beginning is read`() {
        for (text, count) in [("", 0), ("x1", 0), ("r1u", 1), ("r1u2x", 2), ("r1000000", 0), ("r-1", 0), ("r1f٣", 1)] {
            #expect(FeedPolls(text).all.count == count, "\(text)")
        }
    }

    @Test func `counts of hours belong to the same hours`() {
        var hours = PollHours(start: "2030-03-16T00:00:00Z")
        #expect(hours.isValid)
        hours.read = [1]
        #expect(!hours.isValid)
        (hours.unchanged, hours.failed) = ([0], [2])
        #expect(hours.isValid)
        hours.failed = [-1]
        #expect(!hours.isValid)
        let many = [Int](repeating: 0, count: PollHours.maximumCount + 1)
        (hours.read, hours.unchanged, hours.failed) = (many, many, many)
        #expect(!hours.isValid)
    }
}
