import NetworkAddresses
import Testing

@testable import FairShares

struct SharedPlacesTests {
    private func groups(_ address: String) throws -> [[ShareGroup]] {
        let address = try #require(NetworkAddress(address))
        return [ClientGrouping.standard.path(of: address)]
    }

    private func always(_: Int, _: FairShares<Int>.Relation) -> Bool { true }
    private func onlyLarger(_: Int, _ relation: FairShares<Int>.Relation) -> Bool { relation == .larger }

    @Test(arguments: ["2001:db8:1:%::1", "192.0.2.%"])
    func `a client with many addresses displaces itself, and another one gets a place`(form: String) throws {
        var places = SharedPlaces<Int>(places: 100, kept: 0)
        func address(_ number: Int) -> String { form.replacing("%", with: "\(number % 256)") }
        for number in 0..<500 { _ = places.enter(number, in: try groups(address(number)), displaces: always) }
        #expect(places.count == 100)
        let other = places.enter(1_000, in: try groups("2001:db8:2::1"), displaces: onlyLarger)
        guard case .displaced = other else {
            Issue.record("\(other)")
            return
        }
        for number in 500..<2_000 {
            _ = places.enter(number + 1_000, in: try groups(address(number)), displaces: always)
        }
        #expect(places.contains(1_000), "it keeps the place")
    }

    @Test func `clients with as many networks as places leave those that are kept to known ones`() throws {
        var places = SharedPlaces<Int>(places: 30, kept: 10)
        for number in 0..<200 {
            _ = places.enter(number, in: try groups("2001:db8:\(number)::1"), displaces: onlyLarger)
        }
        #expect(places.count == 30)
        let newcomer = try places.enter(500, in: groups("2001:db8:999::1"), displaces: onlyLarger)
        #expect(newcomer == .refused)
        let known = try places.enter(501, in: groups("198.51.100.1"), isKnown: true, displaces: onlyLarger)
        #expect(known == .free)
        #expect(places.isKept(501) && !places.isKept(3))
    }

    @Test func `a known client that takes all kept places gives way to another known one`() throws {
        var places = SharedPlaces<Int>(places: 10, kept: 10)
        for number in 0..<40 {
            _ = places.enter(number, in: try groups("198.51.100.1"), isKnown: true, displaces: onlyLarger)
        }
        #expect(places.count == 20)
        let entry = places.enter(100, in: try groups("192.0.2.1"), isKnown: true, displaces: onlyLarger)
        #expect(entry == .displaced(0))
        let unknown = try places.enter(101, in: groups("203.0.113.1"), displaces: onlyLarger)
        #expect(unknown != .refused)
    }

    @Test func `members that are one group in any way of grouping give way`() throws {
        var places = SharedPlaces<Int>(places: 20, kept: 0, ways: 2)
        for number in 0..<20 {
            let groups = try groups("2001:db8:\(number)::1") + [[.key("alice")]]
            let entry = places.enter(number, in: groups, displaces: onlyLarger)
            #expect(entry == .free)
        }
        #expect(places.weight(of: 7) == 21)
        let other = try groups("192.0.2.1") + [[.key("bob")]]
        let replaced = places.enter(100, in: other, displaces: onlyLarger)
        #expect(replaced == .displaced(0))
        #expect(places.weight(of: 100) == 2 && places.weight(of: 7) == 20)
        let further = try groups("2001:db8:77::1") + [[.key("alice")]]
        let refused = places.enter(101, in: further, displaces: onlyLarger)
        #expect(refused == .refused)
        #expect(places.count == 20)
    }

    @Test func `this machine's clients are one group`() throws {
        let standard = ClientGrouping.standard
        #expect(standard.path(of: NetworkAddress("127.1.2.3")) == [.everybody])
        #expect(standard.path(of: NetworkAddress("::ffff:127.1.2.3")) == [.everybody])
        #expect(standard.path(of: nil) == [.everybody])
        let apart = ClientGrouping { _ in false }
        #expect(apart.path(of: NetworkAddress("127.1.2.3")) != apart.path(of: NetworkAddress("127.1.3.3")))
    }

    @Test func `known networks are limited, and a client with many forgets its own`() throws {
        var known = KnownNetworks(limit: 50)
        let home = NetworkGroup.client(try #require(NetworkAddress("192.0.2.7")))
        known.insert(home)
        for number in 0..<1_000 {
            known.insert(.client(try #require(NetworkAddress("2001:db8:0:\(String(number, radix: 16))::1"))))
        }
        #expect(known.count == 50 && known.contains(home))
    }
}
