import Foundation
import HubProtocol
import Testing

@testable import WebPages

/// The clock of the messages here: 2030-03-17T17:46:40Z and so many seconds.
func second(_ number: Int64) -> Timestamp { Timestamp(milliseconds: (1_900_000_000 + number) * 1_000) }

/// A message as the log has it; `number` is its sequence and its second.
func storyVersion(
    _ number: Int64,
    _ properties: [MessageProperty: String],
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> StoryVersion {
    try #require(
        StoryVersion(
            sequence: LogSequence(rawValue: number),
            at: second(number),
            message: "m\(number)",
            body: MessageProperties(properties).encoded(),
            scope: "here"
        ),
        sourceLocation: sourceLocation
    )
}

/// A version of a story, by its title.
func storyVersion(
    _ number: Int64,
    _ title: String,
    of story: String? = nil,
    _ status: MessageStatus? = nil,
    replaces: String? = nil
) throws -> StoryVersion {
    var properties: [MessageProperty: String] = ["title": title]
    properties[.story] = story
    properties[.status] = status?.rawValue
    properties[.replaces] = replaces
    return try storyVersion(number, properties)
}

extension NewsTimeline {
    /// Of messages in the order of the log.
    init(_ versions: [StoryVersion]) {
        self.init()
        add(newer: versions.reversed())
    }

    var titles: [String] { stories(after: .start).map(\.text.title) }
}

func document(
    _ timeline: NewsTimeline,
    after dropped: LogSequence = .start,
    webSubHub: String? = nil
) throws -> FeedDocument {
    FeedDocument(
        timeline,
        after: dropped,
        tag: try Tag("World"),
        hub: "news",
        scope: "here",
        begin: second(0),
        webSubHub: webSubHub
    )
}
