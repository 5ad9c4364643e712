import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.common.policies.data.BacklogQuota;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy;
import org.apache.pulsar.common.policies.data.TenantInfo;

/** Calls of Pulsar's own admin client, one after the other: prints the name of each, and what became of it. */
public class AdminClient {
    private static final int ENDS_WITHIN_S = 10;
    private static final String NS = "public/java";
    private static final String TOPIC = "persistent://public/java/t";

    private interface Call {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        try (PulsarAdmin admin = PulsarAdmin.builder().serviceHttpUrl(arguments[1])
                .readTimeout(ENDS_WITHIN_S, TimeUnit.SECONDS).requestTimeout(ENDS_WITHIN_S, TimeUnit.SECONDS).build();
                PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build()) {
            for (Map.Entry<String, Call> call : calls(admin, client).entrySet()) {
                System.out.println(call.getKey() + "\t" + outcome(call.getValue()));
            }
        }
    }

    private static String outcome(Call call) {
        try {
            Object answer = call.run();
            return "done\t" + (answer == null ? "" : answer);
        } catch (PulsarAdminException refused) {
            return refused.getStatusCode() + "\t" + refused.getMessage().replaceAll("\\s+", " ");
        } catch (Exception other) {
            return "failed\t" + other;
        }
    }

    private static Map<String, Call> calls(PulsarAdmin admin, PulsarClient client) {
        Map<String, Call> calls = new LinkedHashMap<>();
        calls.put("tenants.createTenant", () -> {
            admin.tenants().createTenant("java", TenantInfo.builder().allowedClusters(Set.of("standalone")).build());
            return admin.tenants().getTenantInfo("java");
        });
        calls.put("namespaces.createNamespace", () -> {
            Policies policies = new Policies();
            policies.replication_clusters = Set.of("standalone");
            policies.max_producers_per_topic = 3;
            admin.namespaces().createNamespace(NS, policies);
            return admin.namespaces().getPolicies(NS).max_producers_per_topic;
        });
        calls.put("namespaces.setBacklogQuota", () -> {
            admin.namespaces().setBacklogQuota(NS, BacklogQuota.builder().limitSize(1000000)
                    .retentionPolicy(BacklogQuota.RetentionPolicy.producer_exception).build());
            return admin.namespaces().getBacklogQuotaMap(NS).size();
        });
        calls.put("namespaces.removeDeduplicationSnapshotInterval", () -> {
            admin.namespaces().removeDeduplicationSnapshotInterval(NS);
            return null;
        });
        calls.put("namespaces.setSchemaCompatibilityStrategy", () -> {
            admin.namespaces().setSchemaCompatibilityStrategy(NS, SchemaCompatibilityStrategy.UNDEFINED);
            return admin.namespaces().getSchemaCompatibilityStrategy(NS);
        });
        calls.put("topics.createNonPartitionedTopic", () -> {
            admin.topics().createNonPartitionedTopic(TOPIC, Map.of("a", "b"));
            return admin.topics().getProperties(TOPIC);
        });
        calls.put("topics.createPartitionedTopic", () -> {
            admin.topics().createPartitionedTopic("persistent://public/java/p", 2, Map.of("a", "b"));
            return admin.topics().getProperties("persistent://public/java/p");
        });
        calls.put("topics.createSubscription", () -> {
            admin.topics().createSubscription(TOPIC, "s", MessageId.earliest);
            return admin.topics().getSubscriptions(TOPIC);
        });
        calls.put("schemas.createSchema", () -> {
            admin.schemas().createSchema(TOPIC, Schema.STRING.getSchemaInfo());
            return admin.schemas().getAllSchemas(TOPIC).size();
        });
        calls.put("topics.peekMessages", () -> {
            try (Producer<String> producer = client.newProducer(Schema.STRING).topic(TOPIC).producerName("p").create()) {
                producer.newMessage().key("k").eventTime(5).property("a", "b").value("v").send();
            }
            List<Message<byte[]>> peeked = admin.topics().peekMessages(TOPIC, "s", 1);
            Message<byte[]> first = peeked.get(0);
            return first.getKey() + " " + first.getEventTime() + " " + first.getProducerName() + " "
                    + first.getSequenceId() + " " + first.getProperties();
        });
        calls.put("topics.getStats", () -> admin.topics().getStats(TOPIC).getMsgInCounter());
        calls.put("topics.getInternalStats", () -> admin.topics().getInternalStats(TOPIC).ledgers.size());
        calls.put("schemas.deleteSchema", () -> {
            admin.schemas().deleteSchema(TOPIC);
            return null;
        });
        calls.put("brokers.getLeaderBroker", () -> admin.brokers().getLeaderBroker().getServiceUrl() != null);
        calls.put("brokers.getInternalConfigurationData",
                () -> admin.brokers().getInternalConfigurationData().getLedgersRootPath());
        calls.put("brokers.getActiveBrokers", () -> admin.brokers().getActiveBrokers().size());
        calls.put("brokers.getActiveBrokers(cluster)", () -> admin.brokers().getActiveBrokers("standalone").size());
        calls.put("brokers.getDynamicConfigurationNames", () -> {
            admin.brokers().getDynamicConfigurationNames();
            return null;
        });
        calls.put("clusters.getPeerClusters", () -> admin.clusters().getPeerClusterNames("standalone"));
        calls.put("topics.setShadowTopics", () -> {
            admin.topics().setShadowTopics(TOPIC, List.of("persistent://public/java/shadow"));
            return null;
        });
        calls.put("topicPolicies.getRetention", () -> admin.topicPolicies().getRetention(TOPIC, true));
        calls.put("topicPolicies.getMaxUnackedMessagesOnConsumer",
                () -> admin.topicPolicies().getMaxUnackedMessagesOnConsumer(TOPIC, true));
        calls.put("namespaces.getNamespaceReplicationClusters",
                () -> admin.namespaces().getNamespaceReplicationClusters(NS));
        return calls;
    }
}
