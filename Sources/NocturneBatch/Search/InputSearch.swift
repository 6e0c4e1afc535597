package import NocturneConcurrency
package import NocturneJournal
package import NocturneOutput
package import NocturneSystem
import Synchronization

/// The search of the inputs by all recipes of a batch: one walk over the files, of which each recipe claims some.
package struct InputSearch: Sendable {
    private let routes: InputRoutes
    private let models: [String]
    private let claims: @Sendable (DiscoveryRequest, InputFiles, ComputeScope) throws -> [any InputClaims]

    /// - Parameter models: the ids of the batch's models, in the order in which they were given.
    package init(_ recipes: [any Recipe], _ routes: InputRoutes = InputRoutes(), models: [String] = []) {
        self.init(routes, models: models) { request, files, scope in
            try recipes.map { try $0.claims(request, files, scope: scope) }
        }
    }

    /// - Parameter claims: what stands for the recipes, in their order.
    package init(
        _ routes: InputRoutes = InputRoutes(),
        models: [String] = [],
        claims: @escaping @Sendable (DiscoveryRequest, InputFiles, ComputeScope) throws -> [any InputClaims]
    ) {
        (self.routes, self.models, self.claims) = (routes, models, claims)
    }

    /// Fills the table with what all recipes find.
    package func run(_ request: DiscoveryRequest, scope: ComputeScope, into table: FoundTable) throws -> Discovery {
        // All files first: a recipe may ask whether a file exists, and what headers state of patients counts for the paths of all
        // files.
        let walk = try Self.walk(request, into: table, flag: scope.flag)
        let claims = try claims(request, InputFiles(table), scope)
        let offer = FileOffer(request: request, table: table, claims: claims, scope: scope)
        try offer.run()
        let patients = try patients(claims, request, walk, table, scope)
        var all = Discovery(notes: walk.notes, patients: patients)
        all.notes += try addItems(of: claims, request, patients, to: table, scope)
        try addUnclaimed(walk, request, patients, to: table, scope)
        try merge(&all, in: table)
        return all
    }

    /// Adds the items of all recipes.
    /// - Returns: remarks that are not about a single item.
    private func addItems(
        of claims: [any InputClaims],
        _ request: DiscoveryRequest,
        _ patients: PatientFolders,
        to table: FoundTable,
        _ scope: ComputeScope
    ) throws -> [String] {
        let unnamed = Atomic(0)
        let unmatched = Mutex(routes.all)
        var notes: [String] = []
        for (index, own) in claims.enumerated() {
            let found = FoundItems(
                isClaimed: { try table.isClaimed($0, besides: index) },
                take: { items in
                    let named = items.map { Self.named($0, request) }
                    unnamed.add(zip(items, named).count { $1 == nil && $0.problem == nil }, ordering: .relaxed)
                    let matched = try add(zip(items, named).map { $1 ?? $0 }, of: index, to: table)
                    unmatched.withLock { $0.subtract(matched) }
                }
            )
            try scope.forEachPortion { before in
                try table.families(of: index, after: before?.last)
            } work: { portion in
                try own.addItems(of: portion.families, patients, to: found)
            } store: {
                try found.handOver()
            }
            notes += try own.finish(found)
            try found.finish()
        }
        let count = unnamed.load(ordering: .relaxed)
        if let pattern = request.namePattern, count > 0 {
            let items = counted(count, "item") + (count == 1 ? " does" : " do")
            notes.append(
                "--name \(pattern.text): \(items) not have every part of it, and keep the name of the file or folder"
            )
        }
        notes += unmatched.withLock(\.self).sorted().map { "No input that the model reads matches --only \($0)" }
        return notes
    }

    /// The item with the name that the batch's pattern gives it; nil where it lacks a part of it. Without a pattern as it is.
    package static func named(_ item: DiscoveredItem, _ request: DiscoveryRequest) -> DiscoveredItem? {
        guard let pattern = request.namePattern else { return item }
        let names = ShownNames(request.identifiers, words: item.words)
        let own = item.name.hasSuffix(item.suffix) ? String(item.name.dropLast(item.suffix.count)) : item.name
        let levels = NamePattern.levels(of: item.path, below: request.inputSet).dropLast().map(names.shown) + [own]
        guard let name = pattern.name(levels: levels, header: item.headerNames) else { return nil }
        var item = item
        item.name = name + item.suffix
        return item
    }

    private static func walk(_ request: DiscoveryRequest, into table: FoundTable, flag: CancellationFlag) throws
        -> FileWalk
    {
        try table.begin()
        return try FileWalk(request, into: table, flag: flag)
    }

    /// All files of a folder that is not an input.
    package static func files(_ request: DiscoveryRequest, flag: CancellationFlag) throws -> [FoundFile] {
        let table = try FoundTable()
        _ = try walk(request, into: table, flag: flag)
        var all: [FoundFile] = []
        try table.forEachFile { all += $0.map(\.file) }
        return all.sorted()
    }

    /// Adds items of one recipe.
    /// - Returns: the options `--only` that these items match, without those that are set aside.
    @discardableResult
    package func add(_ items: [DiscoveredItem], of recipe: Int, to table: FoundTable) throws -> Set<String> {
        let own = items.map { item in
            var item = item
            item.recipe = recipe
            return item
        }
        var matched: Set<String> = []
        try table.add(own) { item in
            if routes.isEmpty { return nil }
            let options = routes.matching(item.model, item.path)
            if case .setAside? = item.problem {} else { matched.formUnion(options) }
            return options.isEmpty ? routes.objection(of: item.model) : nil
        }
        return matched
    }

    /// What identifies the patients of all recipes' files in the paths of all files.
    private func patients(
        _ claims: [any InputClaims],
        _ request: DiscoveryRequest,
        _ walk: FileWalk,
        _ table: FoundTable,
        _ scope: ComputeScope
    ) throws -> PatientFolders {
        guard request.identifiers == .hash else { return PatientFolders() }
        var sought: [String: SoughtWords] = [:]
        for own in claims {
            sought.merge(own.soughtWords()) { first, second in
                var both = first
                both.formUnion(second)
                return both
            }
        }
        var patients = PatientFolders(sought, paths: walk.unusable.map(\.path))
        guard patients.isSought else { return patients }
        try table.forEachFile { files in
            try scope.check()
            for (_, file) in files { patients.look(at: file.path) }
        }
        return patients
    }

    /// Adds what no recipe has a use for, once.
    private func addUnclaimed(
        _ walk: FileWalk,
        _ request: DiscoveryRequest,
        _ patients: PatientFolders,
        to table: FoundTable,
        _ scope: ComputeScope
    ) throws {
        try table.forEachUnclaimed { portion in
            try scope.check()
            try table.add(
                portion.map { file, reason in
                    let (key, words) = (DiscoveredItem.fileKeyPrefix + file.path, patients.words(of: file.path))
                    var item = DiscoveredItem(
                        key: key,
                        name: ShownNames(request.identifiers, words: words).itemName(file.fileName, key: key),
                        model: "",
                        path: file.path,
                        fingerprint: ContentDigest.of(key),
                        inputs: [InputStamp(file.path)]
                    )
                    (item.problem, item.words, item.order) = (.setAside(reason), words, file.path)
                    return item
                }
            )
        }
        let unusable = walk.unusable.map { entry in
            let words = patients.words(of: entry.path)
            var item = entry.item(ShownNames(request.identifiers, words: words))
            // After the items of the first recipe.
            (item.words, item.rank) = (words, .max)
            return item
        }
        try table.add(unusable)
    }

    /// What is one source becomes one item, or one for each model.
    package func merge(_ all: inout Discovery, in table: FoundTable) throws {
        var seen: Set<String> = []
        all.notes = all.notes.filter { seen.insert($0).inserted }
        try table.merge(objectionCode: .notSelected, joined: ItemReason.joined, models: models)
    }
}

/// Offers each file to all recipes, and records what they claim.
private struct FileOffer {
    let request: DiscoveryRequest
    let table: FoundTable
    let claims: [any InputClaims]
    let scope: ComputeScope

    /// What the recipes make of some files.
    private struct Answers: Sendable {
        var claimed: [FoundTable.Claimed] = []
        var unclaimed: [(file: Int64, reason: ItemReason)] = []
        /// Files that other files list.
        var listed: [FoundFile] = []
    }

    func run() throws {
        try scope.forEachPortion { before in
            let files = try table.files(after: before?.last?.number ?? 0)
            return files.isEmpty ? nil : files
        } work: { files in
            try answers(to: files)
        } store: { answers in
            try table.add(answers.claimed, unclaimed: answers.unclaimed)
            try table.addListed(answers.listed)
        }
        try table.endClaims()
    }

    private func answers(to rows: [(number: Int64, file: FoundFile)]) throws -> Answers {
        let silent = try request.silent.among(rows.map(\.file.path), flag: scope.flag)
        let files = rows.map { row in
            var file = row.file
            file.isUnresponsive = silent.contains(file.path)
            return file
        }
        let results = try scope.map(files.count) { index in
            Result { try claims.map { try $0.claim(files[index]) } }
        }
        request.trace.end()
        var answers = Answers()
        for (place, result) in results.enumerated() {
            let own = try result.get()
            let (number, file) = (rows[place].number, files[place])
            let before = answers.claimed.count
            for (recipe, claim) in own.enumerated() {
                let family: String?
                switch claim {
                case .member(let name): family = name ?? file.path
                case .directory(let files):
                    family = file.path
                    answers.listed += files
                case .companion: family = nil
                case .none: continue
                }
                let isSilent = file.isUnresponsive
                answers.claimed.append(.init(file: number, recipe: recipe, family: family, isUnresponsive: isSilent))
            }
            // Those that do not respond are reported with folders that do not.
            if answers.claimed.count == before, !file.isUnresponsive {
                answers.unclaimed.append((number, ItemReason.joined(own.compactMap(\.reason))))
            }
        }
        return answers
    }
}

extension FileClaim {
    fileprivate var reason: ItemReason? {
        if case .none(let reason) = self { reason } else { nil }
    }
}

extension ItemReason {
    /// One reason of discovery for what several recipes have a reason for.
    fileprivate static func joined(_ reasons: [ItemReason]) -> ItemReason {
        var sentences: [Sentence] = []
        // By text: recipes may mark values in it differently.
        for reason in reasons where !sentences.contains(where: { $0.description == reason.text }) {
            sentences.append(reason.sentence)
        }
        let codes = Set(reasons.map(\.code))
        // An empty file is one for every recipe.
        let code = codes.count == 1 ? reasons[0].code : codes.contains(.emptyFile) ? .emptyFile : .unknownFormat
        return .discovered(code, sentences.joined(separator: "; "))
    }
}
