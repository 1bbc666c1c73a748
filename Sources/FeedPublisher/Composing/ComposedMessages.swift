internal import Feeds

/// The messages made from a document, and their effects on the stories of its category.
struct ComposedMessages: Sendable {
    /// Messages to send, each with the change that it makes to its story.
    var stories: [(message: OutboxMessage, change: StoryChange)] = []
    /// Stories that end without a message, because none of their messages was shown.
    var closed: [StoryChange] = []
    /// Unsent rows that now name another feed or include another language, by number.
    var amended: [Int64: OutboxMessage] = [:]
    /// Rows to which a language was added, with the story's change in that language.
    var translated: [(row: Int64, change: StoryChange)] = []
}

extension MessageComposer {
    /// Composes the messages of a judgement.
    func compose(from judgement: Judgement, feedTitle: String, idempotencyKey: () -> String) -> ComposedMessages {
        var composed = ComposedMessages(closed: judgement.closed)
        composed.stories = judgement.announcements.map { announcement in
            let key = idempotencyKey()
            let message = message(for: announcement, feedTitle: feedTitle, idempotencyKey: key)
            return (withTranslations(message, of: announcement, feedTitle: feedTitle), announcement.change)
        }
        for change in composed.stories.map(\.change) + judgement.closed {
            for (row, message) in change.parted { composed.amended[row] = leaving(message) }
        }
        for story in judgement.repeats.values {
            guard let row = story.row, let message = composed.amended[row] ?? story.unsent else { continue }
            composed.amended[row] = naming(feedTitle, in: message)
        }
        for translation in judgement.translations {
            let story = translation.story
            guard let row = story.row, let message = composed.amended[row] ?? story.unsent else { continue }
            let announcement = translation.announcement
            composed.amended[row] = adding(announcement, feedTitle: feedTitle, to: message)
            composed.translated.append((row, announcement.change))
        }
        return composed
    }
}
