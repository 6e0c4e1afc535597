import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// Makes an item of every volume in the inputs. Each channel of a case is a separate item.
struct IsosurfaceDiscovery: InputClaims {
    private let options: IsosurfaceOptions
    private let finder: VolumeFinder

    init(_ options: IsosurfaceOptions, _ request: DiscoveryRequest, _ files: InputFiles, scope: ComputeScope) {
        self.options = options
        // Which inputs are volumes.
        var reading = SegmentationOptions()
        reading.inputs = options.inputs
        finder = VolumeFinder([], reading, request, files, scope: scope)
    }

    func claim(_ file: FoundFile) -> FileClaim { finder.claim(file) }

    func soughtWords() -> [String: SoughtWords] { finder.soughtWords() }

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
        let volumes = try finder.volumes(of: families, patients)
        let stamps = try FoundVolume.stamps(of: volumes, scope: finder.scope)
        for found in volumes {
            let own = [found.ownStamp].compactMap(\.self)
            let all = found.allFiles.map { stamps[$0.path] ?? "" } + own
            try items.add(item(found, all, finder.request.identifiers))
        }
    }

    private func item(_ found: FoundVolume, _ stamps: [String], _ identifiers: IdentifierPolicy) -> DiscoveredItem {
        let source = (try? found.volume.get()).map { found.source($0, model: Isosurfaces.model, identifiers) }
        let optionTexts = options.fingerprintTexts(of: source)
        var item = DiscoveredItem(
            key: found.key,
            name: found.names(identifiers).itemName(found.name, key: found.key),
            model: Isosurfaces.model,
            path: found.path,
            fingerprint: ContentDigest.of(
                (["nocturne isosurfaces 1", found.names(identifiers).fingerprint] + optionTexts + stamps).joined(
                    separator: "\n"
                )
            ),
            inputs: found.allFiles.map { InputStamp($0.path) }
        )
        (item.words, item.suffix, item.order) = (found.words, found.suffix, found.order)
        switch found.volume {
        case .failure(let refusal): item.problem = refusal.problem
        case .success(let facts):
            let shape = facts.geometry.shape
            if min(shape.x, shape.y, shape.z) < 2 { item.problem = .setAside(FoundVolume.singleSlice(shape)) }
            if let source { item.record(source) }
        }
        return item
    }
}
