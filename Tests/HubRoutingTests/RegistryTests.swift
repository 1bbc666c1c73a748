import HubProtocol
import Testing

@testable import HubRouting

struct RegistryTests {
    /// Installations with one to three templates, whose tags are the same or differ.
    private static let installations: [[String]] = [
        ["World"], ["World", "World"], ["World", "Sports"], ["Sports,World", "World", "Sports"],
        ["Sports", "Sports", "Sports"], ["", ""], [],
    ]

    private static func targets(of installation: Int, _ tags: [String]) -> [Target] {
        let native = Target(
            ordinal: Ordinal(rawValue: Int64(installation * 10)),
            platform: .stream,
            isTemplate: false,
            tags: "World,Sports",
            installation: Ordinal(rawValue: Int64(installation)),
            isMain: true
        )
        return [native]
            + tags.enumerated().map { number, tags in
                Target(
                    ordinal: Ordinal(rawValue: Int64(installation * 10 + number + 1)),
                    platform: .stream,
                    isTemplate: true,
                    tags: tags,
                    installation: Ordinal(rawValue: Int64(installation)),
                    isMain: false
                )
            }
    }

    private static let all = installations.enumerated().map { targets(of: $0, $1) }

    private func loaded(_ targets: [[Target]]) -> Registry {
        var registry = Registry()
        for target in targets.joined() { registry.insert(target) }
        registry.finishLoading()
        return registry
    }

    private func changed(_ targets: [[Target]]) -> Registry {
        var registry = Registry()
        registry.finishLoading()
        for targets in targets { registry.apply(targets.map { TargetChange(old: nil, new: $0) }) }
        return registry
    }

    private static let expected: [(expression: String?, streams: Int)] = [
        (nil, 6), ("World", 4), ("Sports", 3), ("World && Sports", 1), ("World || Sports", 5), ("!World", 4), ("x", 0),
    ]

    @Test(arguments: expected)
    func `an installation counts once, however many of its templates match`(expression: String?, streams: Int) throws {
        let expression = try expression.map { try TagExpression(parsing: $0) }
        for registry in [loaded(Self.all), changed(Self.all)] {
            #expect(registry.counts(of: expression, .template).total == streams)
            let message = try Message(audience: expression.map { .matching($0) } ?? .everybody, body: Array("{}".utf8))
            let routed = RoutedMessage(sequence: 1, id: .random(), message, installations: nil)
            #expect(registry.streams(for: routed, limit: 1_000)?.count == streams)
        }
    }

    @Test func `templates that change, come and go are counted as they are then`() throws {
        for var registry in [loaded(Self.all), changed(Self.all)] {
            func put(_ installation: Int, from old: [String], to new: [String]) {
                let (old, new) = (Self.targets(of: installation, old), Self.targets(of: installation, new))
                registry.apply(
                    (0..<max(old.count, new.count)).map { number in
                        TargetChange(
                            old: number < old.count ? old[number] : nil,
                            new: number < new.count ? new[number] : nil
                        )
                    }
                )
            }
            func count(_ expression: String?) throws -> Int {
                try registry.counts(of: expression.map { try TagExpression(parsing: $0) }, .template).total
            }
            put(1, from: Self.installations[1], to: ["World"])
            put(2, from: Self.installations[2], to: ["Sports", "Sports"])
            put(4, from: Self.installations[4], to: ["World", "Sports", "x"])
            #expect(try count("World") == 4)
            #expect(try count("Sports") == 3)
            #expect(try count("x || World") == 4)
            put(4, from: ["World", "Sports", "x"], to: [])
            put(2, from: ["Sports", "Sports"], to: ["Sports"])
            #expect(try count(nil) == 5)
            #expect(try count("Sports") == 2)
        }
    }
}
