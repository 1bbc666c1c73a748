import NetworkAddresses
import Testing

@testable import FairShares

struct FairSharesTests {
    private static func path(_ text: String) -> [ShareGroup] {
        text.split(separator: "/").map { .key(String($0)) }
    }

    private func shares(_ members: (String, Int)...) -> FairShares<Int> {
        var shares = FairShares<Int>()
        for (path, count) in members {
            for _ in 0..<count { shares.insert(shares.count, in: Self.path(path)) }
        }
        return shares
    }

    @Test func `the oldest member of the largest group gives way`() throws {
        var shares = shares(("a", 2), ("b", 5), ("c", 3))
        shares.insert(100, in: Self.path("d"))
        let (member, relation) = try #require(shares.yielding(to: 100))
        #expect(member == 2 && relation == .larger)
    }

    @Test func `many small groups within a large one are a large one`() throws {
        var shares = FairShares<Int>()
        for number in 0..<6 { shares.insert(number, in: Self.path("x/\(number)")) }
        for number in 6..<10 { shares.insert(number, in: Self.path("y/0")) }
        shares.insert(100, in: Self.path("z/0"))
        #expect(try #require(shares.yielding(to: 100)).member == 0)
        // Within the large one, a client with one member gives way to nobody who has more.
        shares.insert(101, in: Self.path("x/3"))
        let (member, relation) = try #require(shares.yielding(to: 101))
        #expect(member == 3 && relation == .own)
    }

    @Test func `a newcomer whose own group is the largest displaces its own`() throws {
        var shares = shares(("a", 3), ("b", 3))
        shares.insert(100, in: Self.path("a"))
        let (member, relation) = try #require(shares.yielding(to: 100))
        #expect(member == 0 && relation == .own)
    }

    @Test func `of equal groups the one gives way that has been so large for the longest time`() throws {
        var shares = shares(("a", 1), ("b", 1), ("c", 1))
        shares.insert(100, in: Self.path("d"))
        var (member, relation) = try #require(shares.yielding(to: 100))
        #expect(member == 0 && relation == .equal)
        shares.remove(0)
        (member, relation) = try #require(shares.yielding(to: 100))
        #expect(member == 1)
    }

    @Test func `an expendable member gives way before older ones of its group, and not before a larger group`() throws {
        var shares = shares(("a", 2))
        shares.insert(10, in: Self.path("a"), isExpendable: true)
        shares.insert(11, in: Self.path("a"), isExpendable: true)
        shares.insert(12, in: Self.path("b"), isExpendable: true)
        #expect(try #require(shares.yielding(to: 12)).member == 10)
        shares.keep(10)
        #expect(try #require(shares.yielding(to: 12)).member == 11)
        shares.keep(11)
        #expect(try #require(shares.yielding(to: 12)).member == 0)
    }

    @Test func `a member that has left counts no more, and nothing is left of its groups`() {
        var shares = FairShares<Int>()
        for round in 0..<3 {
            for number in 0..<1_000 { shares.insert(number, in: Self.path("\(number % 7)/\(number % 91)/\(round)")) }
            #expect(shares.count == 1_000)
            let removed = (0..<1_000).map { shares.remove($0) }
            #expect(removed == Array(0..<1_000))
            let again = shares.remove(1)
            #expect(again == nil)
            #expect(shares.count == 0 && shares.count(of: Self.path("1")) == 0)
        }
        shares.insert(5, in: Self.path("a/b"))
        #expect(shares.yielding(to: 5)?.member == 5)
    }

    /// The rule in its simplest form, which takes time in proportion to the number of members.
    private struct Model {
        var members: [(member: Int, path: [ShareGroup])] = []

        func count(_ prefix: ArraySlice<ShareGroup>) -> Int { members.count { $0.path.starts(with: prefix) } }

        /// True if a member is in a largest group at each level.
        func mayGiveWay(_ member: Int) -> Bool {
            guard let path = members.first(where: { $0.member == member })?.path else { return false }
            return path.indices.allSatisfy { level in
                let siblings = Set(
                    members.lazy.map(\.path).filter { $0.starts(with: path[..<level]) }.map { $0[level] }
                )
                let largest = siblings.map { count(path[..<level] + [$0]) }.max() ?? 0
                return count(path[...level]) == largest
            }
        }
    }

    @Test(arguments: 0..<40)
    func `random members of random groups give way as the rule says`(seed: Int) throws {
        var random = Random(seed: UInt64(seed))
        var (shares, model) = (FairShares<Int>(), Model())
        let breadth = Int.random(in: 1...4, using: &random)
        for member in 0..<300 {
            let path = (0..<3).map { _ in ShareGroup.key("\(Int.random(in: 0...breadth, using: &random))") }
            shares.insert(member, in: path)
            model.members.append((member, path))
            let (yields, relation) = try #require(shares.yielding(to: member))
            try #require(model.mayGiveWay(yields))
            let other = try #require(model.members.first { $0.member == yields }).path
            let apart = zip(path, other).enumerated().first { $1.0 != $1.1 }?.offset
            switch relation {
            case .own: try #require(apart == nil)
            case .equal, .larger:
                let level = try #require(apart)
                let (mine, larger) = (model.count(path[...level]), model.count(other[...level]))
                try #require(relation == .larger ? larger > mine : larger == mine)
            }
            try #require(shares.count(of: Array(path.prefix(2))) == model.count(path[...1]))
            let leaver: Int? =
                model.members.count > 40 ? yields : model.members.map(\.member).randomElement(using: &random)
            if let leaver, model.members.count > 40 || Bool.random(using: &random) {
                shares.remove(leaver)
                model.members.removeAll { $0.member == leaver }
            }
            try #require(shares.count == model.members.count)
        }
    }

    @Test func `a hundred thousand members of one group and of as many groups take little time`() {
        let one = Self.path("a")
        var shares = FairShares<Int>()
        let began = ContinuousClock.now
        for member in 0..<100_000 {
            shares.insert(member, in: member % 2 == 0 ? one : [.key("n"), .key("\(member)")])
        }
        for member in 100_000..<200_000 {
            shares.insert(member, in: [.key("\(member)")])
            if let (former, _) = shares.yielding(to: member) { shares.remove(former) }
        }
        #expect(shares.count == 100_000)
        // In time that grows with the number of members, this would take hours.
        #expect(ContinuousClock.now - began < .seconds(60))
    }
}

/// A linear congruential generator, the same on every machine.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
