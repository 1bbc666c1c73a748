/// The texts of the catalogue that are not in a template or a script.
package enum PageWord: String, CaseIterable, Sendable {
    case allNews
    case correction
    case deviceCategories
    case deviceGone
    case deviceUnconfirmed
    case deviceUnknown
    case deviceWithoutCategories
    case feedTooMany
    case feeds
    case forYou
    case gapSinceVisit
    case invitation
    case newsOf
    case noMatch
    case noNews
    case noNewsOfChoice
    case passwordWrong
    case passwordsBusy
    case passwordsOften
    case secureMessage
    case secureTitle
    case sendChoosePlatform
    case sendEmpty
    case sendNeedsHTTPS
    case sendNoSuchPlatform
    case sendNotSent
    case sendOnlyYourself
    case sendSecureToAll
    case sendSent
    case sendTooLong
    case signIn
    case timeMinute
    case timeMinutes
    case timeSecond
    case timeSeconds
    case trustCertificate
    case update
    case withdrawn
    case yourDevices
}

/// The pages with one piece of information: each has a heading, and a text whose name ends in `Text`.
package enum PageNotice: String, CaseIterable, Sendable {
    case categoriesRefused
    case categoryUnknown
    case failed
    case formForeign
    case formIncomplete
    case formInvalid
    case formLarge
    case frontPage
    case hubFull
    case invitationUnusable
    case languageUnknown
    case manyChanges
    case manyReaders
    case manyRequests
    case manySearches
    case messageUnknown
    case notFound
    /// With the reason of an app backend, which is in English.
    case refused
    case secureNeedsHTTPS
    case sessionEnded
    case signInNeedsHTTPS
    case stopping
    case unavailable
    case uninvited
    case uninvitedWithUsers
}
