import HubProtocol
import Testing

@testable import WebPages

struct NewsTimelineTests {
    @Test func `the newest message comes first`() throws {
        let timeline = NewsTimeline([try storyVersion(1, "a"), try storyVersion(2, "b"), try storyVersion(3, "c")])
        #expect(timeline.titles == ["c", "b", "a"])
    }

    @Test func `a correction replaces its story and keeps when the story was first announced`() throws {
        let timeline = NewsTimeline([
            try storyVersion(1, "fire", of: "s"), try storyVersion(2, "other"),
            try storyVersion(3, "fire, put right", of: "s", .correction),
        ])
        #expect(timeline.titles == ["fire, put right", "other"])
        let story = try #require(timeline.stories(after: .start).first)
        #expect(story.published == second(1) && story.at == second(3))
        #expect(try story.id == storyVersion(1, "fire", of: "s").id)
    }

    @Test func `a correction has the title that it has changed, and no earlier one`() throws {
        func former(_ timeline: NewsTimeline) -> String? { timeline.stories(after: .start).first?.formerTitle }
        let versions = [
            try storyVersion(1, "one hurt", of: "s"), try storyVersion(2, "two hurt", of: "s", .update),
            try storyVersion(3, "nobody hurt", of: "s", .correction),
        ]
        #expect(former(NewsTimeline(versions)) == "two hurt")
        // In the order in which a page reads the log.
        var timeline = NewsTimeline()
        for version in versions.reversed() { timeline.add(older: [version]) }
        #expect(former(timeline) == "two hurt")
        timeline.add(newer: [try storyVersion(4, "Correction: nobody hurt", of: "s", .correction)])
        #expect(former(timeline) == nil, "a mark changes nothing")
        timeline.add(newer: [try storyVersion(5, "one hurt", of: "s")])
        #expect(former(timeline) == nil, "news that says nothing about an earlier version")
    }

    @Test(
        arguments: [
            (nil, nil, ["b", "a"]), ("World", nil, ["a"]), ("wORLD", nil, ["a"]), ("Science", nil, []),
            (nil, "OPEN  bridge", ["a"]), (nil, "sports", ["b"]), (nil, "reporter", ["b"]), ("World", "draw", []),
            ("", " ", ["b", "a"]),
        ] as [(String?, String?, [String])]
    )
    func `a filter selects news of a category, and news with all words`(
        category: String?,
        search: String?,
        titles: [String]
    ) throws {
        let timeline = NewsTimeline([
            try storyVersion(1, [.title: "a", .summary: "The bridge is open.", .category: "World"]),
            try storyVersion(2, [.title: "b", .summary: "A draw.", .category: "Sports", .author: "A Reporter"]),
        ])
        let filter = NewsFilter(category: category, search: search)
        #expect(timeline.versions(after: .start).filter(filter.selects).map(\.title) == titles)
    }

    @Test func `a withdrawal takes its story away, and the stories that it replaces`() throws {
        let timeline = NewsTimeline([
            try storyVersion(1, "one", of: "a"), try storyVersion(2, "two", of: "b"),
            try storyVersion(3, "three", of: "c"),
            try storyVersion(4, "Withdrawn: one", of: "a", .withdrawn, replaces: "b"),
        ])
        #expect(timeline.titles == ["three"])
        #expect(timeline.withdrawals(after: .start).map(\.sequence.rawValue) == [4])
    }

    @Test func `a story that is announced again after its withdrawal is shown again`() throws {
        let timeline = NewsTimeline([
            try storyVersion(1, "one", of: "a"), try storyVersion(2, "Withdrawn", of: "a", .withdrawn),
            try storyVersion(3, "one after all", of: "a"),
        ])
        #expect(timeline.titles == ["one after all"])
        #expect(timeline.withdrawals(after: .start).isEmpty)
    }

    /// A version of the story `s` by a category.
    private func categoryVersion(
        _ number: Int64,
        _ category: String,
        _ version: String,
        _ status: MessageStatus? = nil,
        isUrgent: Bool = false
    ) throws -> StoryVersion {
        var properties: [MessageProperty: String] = [
            "title": "\(category) \(version)", "story": "s", "version": version, "category": category,
        ]
        properties[.status] = status?.rawValue
        properties[.urgency] = isUrgent ? "critical" : nil
        return try storyVersion(number, properties)
    }

    @Test func `of one version in several categories the first is shown, with the names of all`() throws {
        var timeline = NewsTimeline([
            try categoryVersion(1, "World", "v"), try categoryVersion(2, "Europe", "v"),
            try categoryVersion(3, "europe", "v"), try categoryVersion(4, "Top", "v"),
        ])
        #expect(timeline.titles == ["World v"])
        #expect(timeline.versions(after: .start).map(\.alsoIn) == [["europe", "Top"]])
        #expect(timeline.count(after: 1) == 0)
        // In the order in which a page reads the log.
        timeline = NewsTimeline()
        timeline.add(older: [try categoryVersion(4, "Top", "v")])
        timeline.add(older: [try categoryVersion(2, "Europe", "v"), try categoryVersion(1, "World", "v")])
        #expect(timeline.titles == ["World v"])
        timeline.add(newer: [try categoryVersion(5, "Local", "v")])
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
            try categoryVersion(1, "World", "v"), try categoryVersion(2, "World", "w", .correction),
            try categoryVersion(3, "Europe", "v"),
            try categoryVersion(4, "Europe", "w", .correction), try categoryVersion(5, "Top", "v"),
        ])
        #expect(timeline.titles == ["World w"])
        let withdrawn = NewsTimeline([
            try categoryVersion(1, "World", "v"), try categoryVersion(2, "World", "x", .withdrawn),
            try categoryVersion(3, "Europe", "v"),
        ])
        #expect(withdrawn.titles == [])
        #expect(withdrawn.withdrawals(after: .start).count == 1)
    }

    @Test func `an urgent version replaces one that is not urgent, and a new version the former one`() throws {
        let urgent = NewsTimeline([
            try categoryVersion(1, "World", "v"), try categoryVersion(2, "Europe", "v", isUrgent: true),
        ])
        #expect(urgent.titles == ["Europe v"])
        #expect(
            NewsTimeline([try categoryVersion(1, "World", "v"), try categoryVersion(2, "Europe", "w")]).titles == [
                "Europe w"
            ]
        )
        #expect(
            NewsTimeline([try categoryVersion(1, "World", "v"), try categoryVersion(2, "World", "v")]).titles == [
                "World v"
            ]
        )
    }

    @Test func `a withdrawal that names no story is news`() throws {
        #expect(NewsTimeline([try storyVersion(1, "Withdrawn: all", of: nil, .withdrawn)]).titles == ["Withdrawn: all"])
    }

    @Test func `messages without a story are stories of their own, equal or not`() throws {
        #expect(NewsTimeline([try storyVersion(1, "same"), try storyVersion(2, "same")]).titles == ["same", "same"])
    }

    @Test func `fifty stories are kept, and corrections do not push others out`() throws {
        var versions = try (1...60).map { try storyVersion($0, "\($0)", of: "s\($0)") }
        versions += try (61...100).map { try storyVersion($0, "again", of: "s60", .update) }
        let timeline = NewsTimeline(versions)
        #expect(timeline.titles == ["again"] + (11...59).reversed().map { "\($0)" })
        #expect(timeline.isFull)
    }

    @Test func `what the log has dropped is not shown`() throws {
        let timeline = NewsTimeline([try storyVersion(1, "a"), try storyVersion(2, "b")])
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
    ) throws -> StoryVersion {
        var properties: [MessageProperty: String] = ["story": story]
        for (language, text) in texts {
            let title = try language.map { try LanguageName($0).titleProperty } ?? .title
            properties[title] = text
        }
        properties[.status] = status?.rawValue
        properties[.replaces] = replaces
        return try storyVersion(number, properties)
    }

    @Test func `a correction in another language leaves the main version as it is`() throws {
        let main = try spoken(1, [nil: "Fire", "French": "Feu"])
        let timeline = NewsTimeline([
            main, try storyVersion(2, "other"), try spoken(3, ["French": "Pas de feu"], .correction),
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
        let versions = [
            try spoken(1, [nil: "Fire"]), try spoken(2, ["French": "Feu"]), try spoken(3, ["French": "Crue"], of: "b"),
            try spoken(4, ["French": "Ensemble"], of: "c", replaces: "s b"),
            try spoken(5, ["French": "Feu!"], .correction),
        ]
        let whole = NewsTimeline(versions).titles
        #expect(whole == ["Ensemble", "Fire"])
        var (forwards, backwards) = (NewsTimeline(), NewsTimeline())
        for storyVersion in versions { forwards.add(newer: [storyVersion]) }
        for storyVersion in versions.reversed() { backwards.add(older: [storyVersion]) }
        #expect(forwards.titles == whole && backwards.titles == whole)
    }

    /// Stories that are told, corrected, replaced and withdrawn in an order that seems random.
    private static func mix() throws -> [StoryVersion] {
        var state: UInt64 = 7
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        return try (1...400).map { number in
            let status: MessageStatus? = [nil, nil, nil, .update, .correction, .withdrawn][Int(next(6))]
            let replaced = next(8) == 0 ? "s\(next(90))" : nil
            return try storyVersion(Int64(number), "\(number)", of: "s\(next(90))", status, replaces: replaced)
        }
    }

    @Test(arguments: [1, 7, 50, 399])
    func `news that is read in parts is what it is when read at once`(part: Int) throws {
        let versions = try Self.mix()
        let whole = NewsTimeline(versions)
        var forwards = NewsTimeline()
        var backwards = NewsTimeline()
        for start in stride(from: 0, to: versions.count, by: part) {
            forwards.add(newer: versions[start..<min(start + part, versions.count)].reversed())
        }
        for end in stride(from: versions.count, to: 0, by: -part) {
            backwards.add(older: versions[max(0, end - part)..<end].reversed())
        }
        #expect(whole.titles.count == NewsTimeline.maximumStories)
        #expect(backwards.titles == whole.titles)
        // Read forwards, a story may be missing that was pushed out before another one was withdrawn; none is wrong.
        let shown = Set(whole.titles)
        #expect(forwards.titles.allSatisfy(shown.contains))
    }
}
