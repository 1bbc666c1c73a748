internal import Feeds

/// The messages that a document leads to, and what they make of the stories of its category.
struct Edition: Sendable {
    /// Messages to be sent, each with what it makes of its story.
    var stories: [(message: OutboxMessage, change: StoryChange)] = []
    /// Stories that end without a message, because nobody was shown anything of them.
    var closed: [StoryChange] = []
    /// Rows that name one more feed or speak one more language, by number; only unsent ones are changed.
    var amended: [Int64: OutboxMessage] = [:]
    /// Rows that tell a story in one more language, and what is to be known of it there.
    var translated: [(row: Int64, change: StoryChange)] = []
}

extension MessageComposer {
    /// Makes the messages of a judgement.
    func edition(of judgement: Judgement, feedTitle: String, idempotencyKey: () -> String) -> Edition {
        var edition = Edition(closed: judgement.closed)
        edition.stories = judgement.announcements.map { announcement in
            let key = idempotencyKey()
            return (message(for: announcement, feedTitle: feedTitle, idempotencyKey: key), announcement.change)
        }
        for change in edition.stories.map(\.change) + judgement.closed {
            for (row, message) in change.parted { edition.amended[row] = leaving(message) }
        }
        for story in judgement.repeats.values {
            guard let row = story.row, let message = edition.amended[row] ?? story.unsent else { continue }
            edition.amended[row] = naming(feedTitle, in: message)
        }
        for translation in judgement.translations {
            let story = translation.story
            guard let row = story.row, let message = edition.amended[row] ?? story.unsent else { continue }
            let announcement = translation.announcement
            edition.amended[row] = adding(announcement, feedTitle: feedTitle, to: message)
            edition.translated.append((row, announcement.change))
        }
        return edition
    }
}
