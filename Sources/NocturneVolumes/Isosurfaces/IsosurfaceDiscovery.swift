import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneRecipeSupport
import NocturneSystem

/// Makes an item of every volume in the inputs. Channels of one case are items of their own.
struct IsosurfaceDiscovery {
    let options: IsosurfaceOptions
    let scope: ComputeScope

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        let discovery = VolumeDiscovery(models: [], options: options.reading, scope: scope)
        let (found, walk, patients) = try discovery.volumes(request)
        var items = FileBackedList<DiscoveredItem>()
        for start in stride(from: 0, to: found.count, by: Self.volumesAtOnce) {
            let portion = found.elements(start..<min(start + Self.volumesAtOnce, found.count))
            let stamps = try FoundVolume.stamps(of: portion, scope: scope)
            for found in portion {
                let own = [found.ownStamp].compactMap(\.self)
                items.append(item(found, found.allFiles.map { stamps[$0.path] ?? "" } + own, request.identifiers))
            }
        }
        items.append(contentsOf: walk.unusable(model: Isosurfaces.model))
        return Discovery(items: items, notes: walk.notes, patients: patients)
    }

    /// How many volumes become items in one go.
    private static let volumesAtOnce = 256

    private func item(_ found: FoundVolume, _ stamps: [String], _ identifiers: IdentifierPolicy) -> DiscoveredItem {
        let source = (try? found.volume.get()).map { found.source($0, model: Isosurfaces.model, identifiers) }
        let optionTexts = OptionScope.concerning(source, options.shown).sorted { $0.key < $1.key }.map {
            "\($0.key)=\($0.value)"
        }
        var item = DiscoveredItem(
            key: found.key,
            name: found.names(identifiers).itemName(found.name, key: found.key),
            model: Isosurfaces.model,
            source: "{}",
            path: found.path,
            fingerprint: ContentDigest.of(
                (["nocturne isosurfaces 1", found.names(identifiers).fingerprint] + optionTexts + stamps).joined(
                    separator: "\n"
                )
            ),
            inputs: found.allFiles.map { InputStamp($0.path) }
        )
        (item.words, item.suffix) = (found.words, found.suffix)
        switch found.volume {
        case .failure(let refusal): item.problem = refusal.problem
        case .success(let facts):
            if facts.geometry.shape.z < 2 { item.problem = .refused(FoundVolume.singleSlice) }
            if let source { item.record(source) }
        }
        return item
    }
}
