import HubProtocol
import Testing

@testable import WebPages

struct NewsTimelineTests {
    @Test func `the newest message comes first`() throws {
        let timeline = NewsTimeline([try telling(1, "a"), try telling(2, "b"), try telling(3, "c")])
        #expect(timeline.titles == ["c", "b", "a"])
    }

    @Test func `a correction takes the place of its story and keeps when the story was first told`() throws {
        let timeline = NewsTimeline([
            try telling(1, "fire", of: "s"), try telling(2, "other"),
            try telling(3, "fire, put right", of: "s", .correction),
        ])
        #expect(timeline.titles == ["fire, put right", "other"])
        let story = try #require(timeline.stories(after: .start).first)
        #expect(story.published == second(1) && story.at == second(3))
        #expect(try story.id == telling(1, "fire", of: "s").id)
    }

    @Test func `a withdrawal takes its story away, and the stories that it replaces`() throws {
        let timeline = NewsTimeline([
            try telling(1, "one", of: "a"), try telling(2, "two", of: "b"), try telling(3, "three", of: "c"),
            try telling(4, "Withdrawn: one", of: "a", .withdrawn, replaces: "b"),
        ])
        #expect(timeline.titles == ["three"])
        #expect(timeline.withdrawals(after: .start).map(\.sequence.rawValue) == [4])
    }

    @Test func `a story that is told again after its withdrawal is shown again`() throws {
        let timeline = NewsTimeline([
            try telling(1, "one", of: "a"), try telling(2, "Withdrawn", of: "a", .withdrawn),
            try telling(3, "one after all", of: "a"),
        ])
        #expect(timeline.titles == ["one after all"])
        #expect(timeline.withdrawals(after: .start).isEmpty)
    }

    /// A telling of the story `s` by a category.
    private func told(
        _ number: Int64,
        _ category: String,
        _ version: String,
        _ status: MessageStatus? = nil,
        isUrgent: Bool = false
    ) throws -> Telling {
        var properties: [MessageProperty: String] = [
            "title": "\(category) \(version)", "story": "s", "version": version, "category": category,
        ]
        properties[.status] = status?.rawValue
        properties[.urgency] = isUrgent ? "critical" : nil
        return try telling(number, properties)
    }

    @Test func `of one version in several categories the first is shown, with the names of all`() throws {
        var timeline = NewsTimeline([
            try told(1, "World", "v"), try told(2, "Europe", "v"), try told(3, "europe", "v"), try told(4, "Top", "v"),
        ])
        #expect(timeline.titles == ["World v"])
        #expect(timeline.tellings(after: .start).map(\.alsoIn) == [["europe", "Top"]])
        #expect(timeline.count(after: 1) == 0)
        // In the order in which a page reads the log.
        timeline = NewsTimeline()
        timeline.add(older: [try told(4, "Top", "v")])
        timeline.add(older: [try told(2, "Europe", "v"), try told(1, "World", "v")])
        #expect(timeline.titles == ["World v"])
        timeline.add(newer: [try told(5, "Local", "v")])
        #expect(timeline.titles == ["World v"])
        #expect(
            MessageView(try #require(timeline.stories(after: .start).first), newAfter: nil).category.hasPrefix(
                "World, "
            )
        )
    }

    @Test func `a correction in several categories is shown once, and later news of another category changes nothing`()
        throws
    {
        let timeline = NewsTimeline([
            try told(1, "World", "v"), try told(2, "World", "w", .correction), try told(3, "Europe", "v"),
            try told(4, "Europe", "w", .correction), try told(5, "Top", "v"),
        ])
        #expect(timeline.titles == ["World w"])
        let withdrawn = NewsTimeline([
            try told(1, "World", "v"), try told(2, "World", "x", .withdrawn), try told(3, "Europe", "v"),
        ])
        #expect(withdrawn.titles == [])
        #expect(withdrawn.withdrawals(after: .start).count == 1)
    }

    @Test func `an urgent telling replaces one that is not urgent, and another version the former one`() throws {
        let urgent = NewsTimeline([try told(1, "World", "v"), try told(2, "Europe", "v", isUrgent: true)])
        #expect(urgent.titles == ["Europe v"])
        #expect(NewsTimeline([try told(1, "World", "v"), try told(2, "Europe", "w")]).titles == ["Europe w"])
        #expect(NewsTimeline([try told(1, "World", "v"), try told(2, "World", "v")]).titles == ["World v"])
    }

    @Test func `a withdrawal that names no story is news`() throws {
        #expect(NewsTimeline([try telling(1, "Withdrawn: all", of: nil, .withdrawn)]).titles == ["Withdrawn: all"])
    }

    @Test func `messages without a story are stories of their own, equal or not`() throws {
        #expect(NewsTimeline([try telling(1, "same"), try telling(2, "same")]).titles == ["same", "same"])
    }

    @Test func `fifty stories are kept, and corrections do not push others out`() throws {
        var tellings = try (1...60).map { try telling($0, "\($0)", of: "s\($0)") }
        tellings += try (61...100).map { try telling($0, "again", of: "s60", .update) }
        let timeline = NewsTimeline(tellings)
        #expect(timeline.titles == ["again"] + (11...59).reversed().map { "\($0)" })
        #expect(timeline.isFull)
    }

    @Test func `what the log has dropped is not shown`() throws {
        let timeline = NewsTimeline([try telling(1, "a"), try telling(2, "b")])
        #expect(timeline.stories(after: 1).map(\.text.title) == ["b"])
        #expect(timeline.count(after: 1) == 1)
    }

    /// What is said of story `s` in some languages: `nil` is the main one.
    private func spoken(
        _ number: Int64,
        _ texts: [String?: String],
        of story: String = "s",
        _ status: MessageStatus? = nil,
        replaces: String? = nil
    ) throws -> Telling {
        var properties: [MessageProperty: String] = ["story": story]
        for (language, text) in texts {
            let title = try language.map { try LanguageName($0).titleProperty } ?? .title
            properties[title] = text
        }
        properties[.status] = status?.rawValue
        properties[.replaces] = replaces
        return try telling(number, properties)
    }

    @Test func `a correction in another language leaves the main telling as it is`() throws {
        let main = try spoken(1, [nil: "Fire", "French": "Feu"])
        let timeline = NewsTimeline([
            main, try telling(2, "other"), try spoken(3, ["French": "Pas de feu"], .correction),
            try spoken(4, ["German": "Feuer"]),
        ])
        #expect(timeline.titles == ["other", "Fire"])
        #expect(NewsTimeline([main, try spoken(2, ["French": "Retiré"], .withdrawn)]).titles == ["Fire"])
        #expect(NewsTimeline([main, try spoken(2, [nil: "No fire"], .correction)]).titles == ["No fire"])
    }

    @Test func `a correction in a language replaces what was said in it`() throws {
        let french = try spoken(1, ["French": "Feu"])
        let corrected = try spoken(2, ["French": "Pas de feu"], .correction)
        #expect(NewsTimeline([french, corrected]).titles == ["Pas de feu"])
        #expect(NewsTimeline([french, try spoken(2, ["German": "Kein Feuer"], .correction)]).titles == ["Feu"])
        #expect(NewsTimeline([try spoken(1, ["German": "Feuer"]), try spoken(2, ["French": "Feu"])]).titles == ["Feu"])
        let withdrawn = NewsTimeline([french, try spoken(2, ["French": "Retiré"], .withdrawn)])
        #expect(withdrawn.titles.isEmpty && withdrawn.withdrawals(after: .start).count == 1)
    }

    @Test func `the main language counts for all, and so does a withdrawal without any text`() throws {
        let french = try spoken(1, ["French": "Feu"])
        let main = NewsTimeline([french, try spoken(2, [nil: "Fire"])])
        #expect(main.titles == ["Fire"])
        #expect(main.stories(after: .start).first?.published == second(1))
        #expect(NewsTimeline([french, try spoken(2, [nil: "Withdrawn: Fire"], .withdrawn)]).titles.isEmpty)
        #expect(NewsTimeline([french, try spoken(2, [:], .withdrawn)]).titles.isEmpty)
        #expect(NewsTimeline([try spoken(1, [nil: "Fire"]), try spoken(2, [:], .withdrawn)]).titles.isEmpty)
    }

    @Test func `a message replaces other stories in its own language only`() throws {
        let stories = [try spoken(1, [nil: "Fire"], of: "a"), try spoken(2, ["French": "Crue"], of: "b")]
        let french = try spoken(3, ["French": "Les deux"], of: "c", replaces: "a b")
        #expect(NewsTimeline(stories + [french]).titles == ["Les deux", "Fire"])
        let main = try spoken(3, [nil: "Both"], of: "c", replaces: "a b")
        #expect(NewsTimeline(stories + [main]).titles == ["Both"])
    }

    @Test func `languages count alike in whatever parts the log is read`() throws {
        let tellings = [
            try spoken(1, [nil: "Fire"]), try spoken(2, ["French": "Feu"]), try spoken(3, ["French": "Crue"], of: "b"),
            try spoken(4, ["French": "Ensemble"], of: "c", replaces: "s b"),
            try spoken(5, ["French": "Feu!"], .correction),
        ]
        let whole = NewsTimeline(tellings).titles
        #expect(whole == ["Ensemble", "Fire"])
        var (forwards, backwards) = (NewsTimeline(), NewsTimeline())
        for telling in tellings { forwards.add(newer: [telling]) }
        for telling in tellings.reversed() { backwards.add(older: [telling]) }
        #expect(forwards.titles == whole && backwards.titles == whole)
    }

    /// Stories that are told, corrected, replaced and withdrawn in an order that seems random.
    private static func mix() throws -> [Telling] {
        var state: UInt64 = 7
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        return try (1...400).map { number in
            let status: MessageStatus? = [nil, nil, nil, .update, .correction, .withdrawn][Int(next(6))]
            let replaced = next(8) == 0 ? "s\(next(90))" : nil
            return try telling(Int64(number), "\(number)", of: "s\(next(90))", status, replaces: replaced)
        }
    }

    @Test(arguments: [1, 7, 50, 399])
    func `news that is read in parts is what it is when read at once`(part: Int) throws {
        let tellings = try Self.mix()
        let whole = NewsTimeline(tellings)
        var forwards = NewsTimeline()
        var backwards = NewsTimeline()
        for start in stride(from: 0, to: tellings.count, by: part) {
            forwards.add(newer: tellings[start..<min(start + part, tellings.count)].reversed())
        }
        for end in stride(from: tellings.count, to: 0, by: -part) {
            backwards.add(older: tellings[max(0, end - part)..<end].reversed())
        }
        #expect(whole.titles.count == NewsTimeline.maximumStories)
        #expect(backwards.titles == whole.titles)
        // Read forwards, a story may be missing that was pushed out before another one was withdrawn; none is wrong.
        let shown = Set(whole.titles)
        #expect(forwards.titles.allSatisfy(shown.contains))
    }
}
