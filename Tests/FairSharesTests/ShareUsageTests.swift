import NetworkAddresses
import Testing

@testable import FairShares

struct ShareUsageTests {
    private static let budget = 512 << 20

    /// Fills the budget with members of a size, network by network, until a network gets nothing more.
    private func attack(_ networks: [NetworkGroup], size: Int) -> (usage: ShareUsage, used: Int) {
        var (usage, used) = (ShareUsage(), 0)
        for network in networks {
            let groups = network.path.map { ShareGroup.network($0) }
            while Self.mayStore(size, network, usage, used) {
                usage.add(size, to: groups)
                used += size
            }
        }
        return (usage, used)
    }

    private static func mayStore(_ size: Int, _ network: NetworkGroup, _ usage: ShareUsage, _ used: Int) -> Bool {
        if usage.use(of: .network(network)).count == 0, ShareUsage.isKept(of: budget, used: used) { return false }
        return used + size <= budget
            && network.path.allSatisfy {
                usage.use(of: .network($0)).bytes + size <= ShareUsage.part(of: budget, used: used, bits: $0.bits)
            }
    }

    private func networks(_ count: Int, _ form: (Int) -> String) throws -> [NetworkGroup] {
        try (0..<count).map { .client(try #require(NetworkAddress(form($0)))) }
    }

    @Test(arguments: [1, 10, 200, 400])
    func `many networks that fill the budget leave another one a hundred places`(count: Int) throws {
        let (usage, used) = attack(try networks(count) { "10.\($0 / 256).\($0 % 256).1" }, size: 10_000)
        var (after, total, places) = (usage, used, 0)
        let network = NetworkGroup.client(try #require(NetworkAddress("2001:db8::1")))
        while Self.mayStore(1_300, network, after, total) {
            after.add(1_300, to: network.path.map { .network($0) })
            total += 1_300
            places += 1
        }
        #expect(places >= 24, "\(places) after \(used)")
        if count <= 10 { #expect(places >= 1_000) }
    }

    @Test func `all small networks of a large one have its part together`() throws {
        let (usage, used) = attack(try networks(65_536) { "2001:db8:1:\(String($0, radix: 16))::1" }, size: 100_000)
        #expect(used <= Self.budget / 2 + 100_000)
        let other = NetworkGroup.client(try #require(NetworkAddress("2001:db8:2::1")))
        #expect(Self.mayStore(1_300, other, usage, used))
    }

    @Test func `ten thousand agents behind one address find room`() throws {
        let (usage, used) = attack(try networks(1) { _ in "192.0.2.1" }, size: 3_000)
        #expect(usage.use(of: .network(.client(try #require(NetworkAddress("192.0.2.1"))))).count > 10_000)
        #expect(used > Self.budget / 3)
    }

    @Test func `what is removed leaves nothing`() throws {
        let groups = try networks(1) { _ in "2001:db8::1" }[0].path.map { ShareGroup.network($0) }
        var usage = ShareUsage()
        for size in 1...100 { usage.add(size, to: groups) }
        #expect(usage.use(of: groups[0]) == .init(count: 100, bytes: 5_050))
        for size in 1...100 { usage.remove(size, from: groups) }
        #expect(usage == ShareUsage())
    }
}
