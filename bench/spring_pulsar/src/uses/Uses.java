package uses;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.pulsar.core.PulsarAdministration;
import org.springframework.pulsar.core.PulsarTemplate;

/** Fourteen uses of Spring for Apache Pulsar against one broker; prints one line for each. */
public final class Uses {
    /** What a use with a JSON schema sends. */
    public record Reading(String place, double degrees) {}

    private static final long WAIT_S = 30;
    private static final long DELAY_MS = 1_500;

    private final PulsarTemplate<Object> template;
    private final PulsarAdministration administration;
    private final Listeners heard;

    @SuppressWarnings("unchecked")
    private Uses(AnnotationConfigApplicationContext context) {
        template = context.getBean(PulsarTemplate.class);
        administration = context.getBean(PulsarAdministration.class);
        heard = context.getBean(Listeners.class);
    }

    public static void main(String[] arguments) {
        int failed = 0;
        try (var context = new AnnotationConfigApplicationContext(Listeners.class, Wiring.class)) {
            for (var use : new Uses(context).all().entrySet()) {
                String said = outcome(use.getValue());
                failed += said.isEmpty() ? 0 : 1;
                System.out.println((said.isEmpty() ? "pass " : "fail ") + use.getKey() + (said.isEmpty() ? "" : ": " + said));
            }
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    private static String outcome(Callable<String> use) {
        try {
            return use.call();
        } catch (Exception error) {
            return error.toString();
        }
    }

    private Map<String, Callable<String>> all() {
        var uses = new LinkedHashMap<String, Callable<String>>();
        uses.put("template and listener", () -> sent("text", heard.text, 10));
        uses.put("JSON schema", this::json);
        uses.put("batch listener", () -> sent("batches", heard.batches, 20));
        uses.put("manual acknowledgment", () -> sent("manual", heard.manual, 10) + unacknowledged("manual"));
        uses.put("exception and redelivery", () -> sent("retried", heard.retried, 1));
        uses.put("dead letter policy", () -> sent("failing", heard.dead, 1));
        uses.put("error handler and recoverer", () -> sent("handled", heard.recovered, 1));
        uses.put("shared, three consumers", () -> sent("shared", heard.shared, 30));
        uses.put("key_shared, order within a key", this::keyed);
        uses.put("failover on three partitions", () -> sent("partitioned", heard.failover, 12));
        uses.put("topics by pattern", this::pattern);
        uses.put("key and properties as headers", this::headers);
        uses.put("reader from the earliest", () -> sent("read", heard.read, 5));
        uses.put("delayed delivery", this::delayed);
        return uses;
    }

    private String sent(String topic, BlockingQueue<String> queue, int count) throws Exception {
        var values = IntStream.range(0, count).mapToObj(number -> topic + " " + number).toList();
        for (String value : values) {
            template.send(topic, value);
        }
        return sameSet(values, taken(queue, count));
    }

    private static List<String> taken(BlockingQueue<String> queue, int count) throws InterruptedException {
        var values = new ArrayList<String>();
        while (values.size() < count) {
            String value = queue.poll(WAIT_S, TimeUnit.SECONDS);
            if (value == null) {
                break;
            }
            values.add(value);
        }
        return values;
    }

    private static String sameSet(List<String> expected, List<String> came) {
        var sorted = new ArrayList<>(expected);
        var found = new ArrayList<>(came);
        Collections.sort(sorted);
        Collections.sort(found);
        return sorted.equals(found) ? "" : "expected " + sorted + ", came " + found;
    }

    private String json() throws Exception {
        template.send("json", new Reading("Lisbon", 21.5), schema());
        return sameSet(List.of("Lisbon 21.5"), taken(heard.json, 1));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static org.apache.pulsar.client.api.Schema<Object> schema() {
        return (org.apache.pulsar.client.api.Schema) org.apache.pulsar.client.api.Schema.JSON(Reading.class);
    }

    private String unacknowledged(String topic) throws Exception {
        try (PulsarAdmin admin = administration.createAdminClient()) {
            long ends = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
            long left;
            do {
                left = admin.topics().getStats(topic).getSubscriptions().get(topic).getMsgBacklog();
                Thread.sleep(100);
            } while (left > 0 && System.nanoTime() < ends);
            return left == 0 ? "" : left + " messages are not acknowledged";
        }
    }

    private String keyed() throws Exception {
        for (int number = 0; number < 20; number++) {
            String key = number % 2 == 0 ? "even" : "odd";
            template.newMessage("" + (char) ('a' + number)).withTopic("keyed")
                    .withMessageCustomizer(message -> message.key(key)).send();
        }
        var came = taken(heard.keyed, 20);
        for (String key : List.of("even", "odd")) {
            var values = came.stream().filter(one -> one.startsWith(key)).toList();
            if (values.size() != 10 || !values.equals(values.stream().sorted().toList())) {
                return key + " came as " + values;
            }
        }
        return "";
    }

    private String pattern() throws Exception {
        template.send("pattern-a", "first");
        template.send("pattern-b", "second");
        return sameSet(List.of("first", "second"), taken(heard.pattern, 2));
    }

    private String headers() throws Exception {
        template.newMessage("painted").withTopic("headers")
                .withMessageCustomizer(message -> message.key("k").property("colour", "blue")).send();
        return sameSet(List.of("painted blue k"), taken(heard.headers, 1));
    }

    private String delayed() throws Exception {
        template.newMessage("late").withTopic("delayed")
                .withMessageCustomizer(message -> message.deliverAfter(DELAY_MS, TimeUnit.MILLISECONDS)).send();
        var came = taken(heard.delayed, 1);
        if (came.isEmpty()) {
            return "it never came";
        }
        return Long.parseLong(came.get(0)) >= DELAY_MS - 100 ? "" : "it came " + came.get(0) + " ms after it was published";
    }
}
